;; tries: to give a device away as a node
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: handle index 1 used with the wrong type
;; wins: offers @name
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (local.set $h (call $own))
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $node (local.get $h))
    (call $pools))
