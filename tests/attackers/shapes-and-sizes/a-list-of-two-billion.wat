;; tries: to answer with a list of 2,147,483,648 pools
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: list pointer/length out of bounds of memory
;; wins: offers @name
;; wins: has 400 MiB
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (drop (call $one))
    (i32.store (i32.const 24) (i32.const 0x80000000))
    (i32.const 16))
