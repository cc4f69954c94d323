;; tries: to act on a terminal by the message of a failure, which a pod's events show
;; stopped by: escaping
;; asks: Allocate
;; reads: \u{1b}[31mtry again\r\u{202e}
;; wins: says \u{1b}[31m
;; off: unchecked
(allocate (call $fail (i32.const 8) @s("\u{1b}[31mtry again\r\u{202e}")))
