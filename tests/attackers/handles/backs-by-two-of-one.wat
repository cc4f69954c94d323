;; tries: to make two units of one device, by two handles of it
;; stopped by: ledger
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; asks: Allocate of second
;; reads: device @device already backs @name of plugin @name
;; wins: gives node /dev/@device
;; off: unchecked
(enumerate
    (local.set $h (call $own))
    (call $pool @s("@resource"))
    (call $unit @s("@name")) (call $backing (call $duplicate (local.get $h)))
    (call $unit @s("second")) (call $backing (local.get $h))
    (call $pools))
