;; tries: to learn the host's environment
;; stopped by: wasi without anything behind it
;; reads: reached 1
;; wins: says @name has won
;; off: none, because the host gives no environment
(enumerate
    (call $environment (global.get $ret))
    (if (i32.load offset=4 (global.get $ret)) (then (call $win)))
    (call $reached (i32.const 1))
    (call $one))
