;; tries: to compute for seconds at each look at its health
;; stopped by: limits.cpu
;; reads: health exceeded its 100ms of processor time (limits.cpu)
;; wins: says @name has won
;; off: as spins
(health
    (loop $again (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2000000000))))
    (call $win)
    (call $healthy (local.get $count)))
