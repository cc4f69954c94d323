;; tries: to read what the host is told
;; stopped by: wasi without anything behind it
;; reads: reached 1
;; wins: says @name has won
;; off: none, because the host gives no input
(enumerate
    (call $read_some (call $stdin) (i64.const 100) (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret)))
        (then (if (i32.load offset=8 (global.get $ret)) (then (call $win)))))
    (call $reached (i32.const 1))
    (call $one))
