;; tries: to hold handles without end while a pod waits
;; stopped by: limits.handles
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; policy: limits: {handles: 100, cpu: 2s, deadline: 20s}
;; asks: Allocate
;; reads: allocate exceeded its 116 handles (limits.handles)
;; wins: reaches 1000 handles
;; off: limits: {handles: 1400, cpu: 2s, deadline: 20s}
(allocate
    (local.set $h (call $own))
    (loop $again
        (drop (call $duplicate (local.get $h)))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br $again))
    (unreachable))
