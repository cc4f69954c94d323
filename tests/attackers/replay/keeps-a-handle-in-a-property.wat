;; tries: to use in `allocate` a handle that it wrote into a property
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 7
;; wins: says @name has won
;; off: none, because a table of handles is made for each call
(enumerate
    (local.set $h (call $own))
    @for(i 0 6){(local.set $h (call $duplicate (local.get $h)))}
    (i32.store8 (i32.const 1000) (i32.add (i32.const 48) (local.get $h)))
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $property @s("handle") (i32.const 1000) (i32.const 1))
    (call $pools))
(allocate
    ;; The first property of the first unit: its value is two words behind its name.
    (local.set $at (i32.load offset=24 (local.get $units)))
    (local.set $h (i32.sub (i32.load8_u (i32.load offset=8 (local.get $at))) (i32.const 48)))
    (call $device_name (local.get $h) (global.get $ret))
    (call $win)
    (call $edits))
