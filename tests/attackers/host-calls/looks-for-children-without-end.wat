;; tries: to have the host walk through the device tree without end
;; stopped by: limits.host-calls
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; policy: limits: {host-calls: 1000, deadline: 20s, cpu: 5s, transfer: 64MiB, read: 64MiB}
;; reads: enumerate exceeded its 1064 calls to the host (limits.host-calls)
;; wins: reaches 10000 calls
;; off: as asks-without-end
(enumerate
    (local.set $h (call $own))
    (loop $again
        (call $children (local.get $h) @s("bench1") (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br $again))
    (unreachable))
