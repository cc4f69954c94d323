;; tries: to hold the same node without end, a list at a time
;; stopped by: limits.handles
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; policy: limits: {handles: 100, cpu: 2s, deadline: 20s}
;; reads: enumerate exceeded its 116 handles (limits.handles)
;; wins: reaches 1000 handles
;; off: limits: {handles: 1400, cpu: 2s, deadline: 20s}
(enumerate
    (local.set $h (call $own))
    (loop $again
        (call $nodes (local.get $h) (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br $again))
    (unreachable))
