;; tries: to use a handle that it was never given
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: unknown handle index 12345
;; wins: says @name has won
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (call $device_name (i32.const 12345) (global.get $ret))
    (call $win)
    (call $one))
