;; tries: to offer a device that an earlier plugin of the policy offers
;; stopped by: ledger
;; policy: hardware: [{subsystem: bench0, name: @good, use: offer, nodes: [{access: rw}]}]
;; asks: Allocate of @name
;; reads: device @good already backs @good of plugin bench0
;; wins: gives node /dev/@good
;; off: unchecked
(enumerate
    (call $device_by_name @s("bench0") @s("@good") (global.get $ret))
    (local.set $h (i32.load offset=4 (global.get $ret)))
    (call $pool @s("@resource"))
    (call $unit @s("@name"))
    (call $backing (local.get $h))
    (call $unit @s("free"))
    (call $pools))
