;; tries: to compute in short stretches between calls to the host, so that no stretch is long
;; stopped by: limits.cpu
;; policy: limits: {cpu: 100ms, deadline: 20s, host-calls: 10000000, transfer: 64MiB}
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: as spins
(allocate
    (loop $again
        (local.set $n (i32.const 0))
        (loop $short (br_if $short (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))
        (call $config (global.get $ret))
        (br $again))
    (unreachable))
