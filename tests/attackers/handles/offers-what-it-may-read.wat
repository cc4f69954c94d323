;; tries: to offer a device that it may only read
;; stopped by: gate: backing
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; reads: is granted for reading only
;; wins: offers @name
;; off: hardware: [{subsystem: bench1, name: @device, use: offer}]
(enumerate
    (local.set $h (call $own))
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $backing (local.get $h))
    (call $pools))
