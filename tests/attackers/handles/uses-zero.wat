;; tries: to use the handle 0, which no table gives
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: unknown handle index 0
;; wins: says @name has won
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (drop (call $own))
    (call $device_name (i32.const 0) (global.get $ret))
    (call $win)
    (call $one))
