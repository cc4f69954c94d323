;; tries: to begin a line of the log that is not said to be its own
;; stopped by: escaping
;; reads: \u{2028}  INFO plugin bench0: is gone
;; wins: says \u{2028}
;; off: unchecked
(enumerate (call $say @s("one\u{2028}  INFO plugin bench0: is gone\u{85}three\u{b}four\u{c}five")) (call $one))
