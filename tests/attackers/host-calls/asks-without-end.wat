;; tries: to ask the host without end
;; stopped by: limits.host-calls
;; policy: limits: {host-calls: 1000, deadline: 20s, cpu: 5s, transfer: 64MiB}
;; reads: enumerate exceeded its 1000 calls to the host (limits.host-calls)
;; wins: reaches 10000 calls
;; off: limits: {host-calls: 12000, deadline: 20s, cpu: 5s, transfer: 64MiB}
(enumerate
    (loop $again
        (call $config (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br $again))
    (unreachable))
