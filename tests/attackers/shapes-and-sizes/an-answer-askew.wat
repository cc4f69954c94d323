;; tries: to answer at an odd address
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: return pointer not aligned
;; wins: offers @name
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (drop (call $one))
    (memory.copy (i32.const 1025) (i32.const 16) (i32.const 12))
    (i32.const 1025))
