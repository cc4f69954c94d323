;; tries: to answer with a list that begins within its memory and ends beside it
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: list pointer/length out of bounds of memory
;; wins: offers @name
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (drop (call $one))
    (i32.store (i32.const 20) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 8)))
    (i32.const 16))
