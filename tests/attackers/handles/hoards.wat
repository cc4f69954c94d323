;; tries: to hold handles without end
;; stopped by: limits.handles
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; policy: limits: {handles: 100, deadline: 20s}
;; reads: enumerate exceeded its 116 handles (limits.handles)
;; wins: reaches 1000 handles
;; off: limits: {handles: 1400, deadline: 20s}
(enumerate
    (local.set $h (call $own))
    (loop $again
        (drop (call $duplicate (local.get $h)))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br $again))
    (unreachable))
