;; tries: to have the host write beside its memory
;; stopped by: canonical ABI
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; reads: enumerate broke the contract: pointer out of bounds
;; wins: says @name has won
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (call $device_name (call $own) (i32.const 0xfffffff8))
    (call $win)
    (call $one))
