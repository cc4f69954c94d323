;; tries: to give two containers one node: by the device in one unit, by the node alone in the other
;; stopped by: ledger
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; asks: Allocate of @name-2
;; reads: device @device already backs @name of plugin @name, or a part of it does
;; wins: gives node /dev/@device
;; off: unchecked
(enumerate
    (local.set $h (call $own))
    (call $nodes (local.get $h) (global.get $ret))
    (local.set $n (i32.load (i32.load offset=4 (global.get $ret))))
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $backing (local.get $h))
    (call $unit @s("@name-2")) (call $node (local.get $n))
    (call $pools))
