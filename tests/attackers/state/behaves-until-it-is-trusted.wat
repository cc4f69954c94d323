;; tries: to behave while it is new, by a count that it keeps, and to hold up the node later
;; stopped by: limits.cpu
;; policy: state: true
;; reads: health exceeded its 100ms of processor time
;; wins: says @name has won
;; off: as spins-in-enumerate
(enumerate
    (call $store @s("old") (global.get $ret))
    (call $one))
(health
    (call $load (global.get $ret))
    (if (i32.eq (i32.load offset=8 (global.get $ret)) (i32.const 3)) (then (loop $again (br $again))))
    (call $win)
    (call $healthy (local.get $count)))
