;; tries: to take each look at its health all that a call may, so that the next one is late
;; stopped by: limits.deadline
;; policy: state: true
;; policy: limits: {cpu: 1s, deadline: 1s, host-calls: 10000000, transfer: 64MiB}
;; reads: health exceeded its 1s deadline (limits.deadline)
;; wins: says @name has won
;; off: as asks-until-its-deadline
(health
    (loop $again
        (call $load (global.get $ret))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 9000000))))
    (call $win)
    (call $healthy (local.get $count)))
