;; tries: to wait for a line on its standard input
;; stopped by: no input
;; asks: Allocate
;; reads: reached 1
;; wins: takes 15 s
;; off: none, because a runner has no input to wait for
(allocate
    (call $read_some (call $stdin) (i64.const 4096) (global.get $ret))
    ;; That it is closed.
    (call $reached (i32.load8_u (global.get $ret)))
    (call $edits))
