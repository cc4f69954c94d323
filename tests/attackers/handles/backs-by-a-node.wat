;; tries: to make a unit of a node as if it were a device
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; reads: enumerate broke the contract: handle index 2 used with the wrong type
;; wins: offers @name
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (call $nodes (call $own) (global.get $ret))
    (call $told (global.get $ret))
    (local.set $h (i32.load (i32.load offset=4 (global.get $ret))))
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $backing (local.get $h))
    (call $pools))
