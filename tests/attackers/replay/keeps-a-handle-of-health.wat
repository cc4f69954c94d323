;; tries: to use in `allocate` a handle that `health` had
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; policy: state: true
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 2
;; wins: says @name has won
;; off: none, because a table of handles is made for each call
(health
    (i32.store (i32.const 1000) (call $duplicate (call $own)))
    (call $store (i32.const 1000) (i32.const 4) (global.get $ret))
    (call $healthy (local.get $count)))
(allocate
    (call $load (global.get $ret))
    (call $device_name (i32.load (i32.load offset=4 (global.get $ret))) (global.get $ret))
    (call $win)
    (call $edits))
