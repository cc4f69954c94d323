;; tries: to use in `allocate` a handle that its id stands for
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; asks: Allocate of 1
;; reads: allocate broke the contract: unknown handle index 1
;; wins: says @name has won
;; off: none, because a table of handles is made for each call
(enumerate
    (i32.store8 (i32.const 1000) (i32.add (i32.const 48) (call $own)))
    (call $pool @s("@resource")) (call $unit (i32.const 1000) (i32.const 1))
    (call $pools))
(allocate
    (local.set $h (i32.sub (i32.load8_u (i32.load (local.get $units))) (i32.const 48)))
    (call $device_name (local.get $h) (global.get $ret))
    (call $win)
    (call $edits))
