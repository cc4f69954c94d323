;; tries: to have an address and a length that are more than 32 bits together
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: string pointer/length out of bounds of memory
;; wins: registers @resource
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (call $pool @s("@resource"))
    (call $unit (i32.const 0x1000) (i32.const 0xfffff010))
    (call $pools))
