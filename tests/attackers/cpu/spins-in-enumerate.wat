;; tries: to compute for seconds before it says what there is
;; stopped by: limits.cpu
;; reads: enumerate exceeded its 100ms of processor time (limits.cpu)
;; wins: offers @name
;; off: limits: {cpu: 19s, deadline: 20s}
(enumerate
    (loop $again (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 600000000))))
    (call $one))
