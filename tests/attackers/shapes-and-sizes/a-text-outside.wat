;; tries: to have an id read from beside its memory
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: string pointer/length out of bounds of memory
;; wins: registers @resource
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (call $pool @s("@resource"))
    (call $unit (i32.const 0xfffffff0) (i32.const 8))
    (call $pools))
