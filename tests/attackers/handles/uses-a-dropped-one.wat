;; tries: to read through a handle that it has dropped
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: unknown handle index
;; wins: says @name has won
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (local.set $h (call $own))
    (call $drop_device (local.get $h))
    (call $attribute (local.get $h) @s("uevent") (global.get $ret))
    (call $win)
    (call $one))
