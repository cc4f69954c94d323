;; tries: to keep more than 64 KiB
;; stopped by: size of a state
;; policy: state: true
;; reads: the blob has 65537 bytes; at most 65536 are allowed
;; wins: says @name has won
;; off: none, because the size is a constant, held in the runner and in the host
(enumerate
    (call $store (i32.const 0) (i32.const 65537) (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
