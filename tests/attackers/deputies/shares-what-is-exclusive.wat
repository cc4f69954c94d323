;; tries: to hand out its exclusive node with every unit of a pool
;; stopped by: gate: nodes
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; asks: nothing
;; reads: node /dev/@device is not marked shared by the policy
;; wins: offers @name
;; off: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw, shared: true}]}]
(enumerate
    (call $nodes (call $own) (global.get $ret))
    (local.set $n (i32.load (i32.load offset=4 (global.get $ret))))
    (call $pool @s("@resource"))
    (call $node (local.get $n))
    (call $unit @s("@name"))
    (call $unit @s("@name-2"))
    (call $pools))
