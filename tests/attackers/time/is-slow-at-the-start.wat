;; tries: to keep the host from its other plugins by an `enumerate` that takes all that a call may, one after the other
;; stopped by: limits.deadline
;; policy: state: true
;; policy: limits: {cpu: 1s, deadline: 1s, host-calls: 10000000, transfer: 64MiB}
;; reads: enumerate exceeded its 1s deadline (limits.deadline)
;; wins: offers @name
;; off: as asks-until-its-deadline
(enumerate
    (loop $again
        (call $load (global.get $ret))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 9000000))))
    (call $one))
