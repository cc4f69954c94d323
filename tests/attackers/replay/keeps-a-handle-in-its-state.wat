;; tries: to use in `allocate` a handle that it kept on disk
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; policy: state: true
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 1
;; wins: says @name has won
;; off: none, because a table of handles is made for each call
(enumerate
    (i32.store (i32.const 1000) (call $own))
    (call $store (i32.const 1000) (i32.const 4) (global.get $ret))
    (call $one))
(allocate
    (call $load (global.get $ret))
    (call $device_name (i32.load (i32.load offset=4 (global.get $ret))) (global.get $ret))
    (call $win)
    (call $edits))
