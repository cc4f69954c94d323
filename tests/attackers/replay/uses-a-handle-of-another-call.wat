;; tries: to use in `allocate` a handle that `enumerate` had
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 1
;; wins: says @name has won
;; off: none, because a table of handles is made for each call
(enumerate (drop (call $own)) (call $one))
(allocate
    ;; The first handle of `enumerate` was 1, and this call has none.
    (call $device_name (i32.const 1) (global.get $ret))
    (call $win)
    (call $edits))
