;; tries: to make two units of one handle
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: unknown handle index
;; wins: offers second
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (local.set $h (call $own))
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $backing (local.get $h))
    (call $unit @s("second")) (call $backing (local.get $h))
    (call $pools))
