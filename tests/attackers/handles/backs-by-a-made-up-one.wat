;; tries: to make a unit of a handle that it was never given
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: unknown handle index 77
;; wins: offers @name
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $backing (i32.const 77))
    (call $pools))
