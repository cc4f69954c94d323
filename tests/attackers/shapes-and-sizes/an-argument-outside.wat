;; tries: to have the host read a path from beside its memory
;; stopped by: canonical ABI
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; reads: enumerate broke the contract: string pointer/length out of bounds of memory
;; wins: says @name has won
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (call $attribute (call $own) (i32.const 0x7fffffff) (i32.const 0x7fffffff) (global.get $ret))
    (call $win)
    (call $one))
