;; tries: to give each container a node that the policy does not share
;; stopped by: gate: nodes
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; reads: is not marked shared by the policy
;; wins: offers @name
;; off: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw, shared: true}]}]
(enumerate
    (call $nodes (call $own) (global.get $ret))
    (call $told (global.get $ret))
    (call $pool @s("@resource"))
    (call $node (i32.load (i32.load offset=4 (global.get $ret))))
    (call $unit @s("@name"))
    (call $pools))
