;; tries: to ask for devices that it may not have without end, which is refused each time
;; stopped by: limits.host-calls
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; policy: limits: {host-calls: 1000, deadline: 20s, cpu: 5s, transfer: 64MiB}
;; asks: Allocate
;; reads: allocate exceeded its 1064 calls to the host (limits.host-calls)
;; wins: reaches 10000 calls
;; off: as asks-without-end
(allocate
    (loop $again
        (call $device_by_name @s("bench0") @s("bench0-0") (global.get $ret))
        (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br $again))
    (unreachable))
