;; tries: to answer with a list of 4,294,967,295 variables while a pod waits
;; stopped by: canonical ABI
;; asks: Allocate
;; reads: allocate broke the contract: list pointer/length out of bounds of memory
;; wins: gives answer
;; off: none, because the engine reads each answer by its type, and there is no other way in
(allocate
    (drop (call $edits))
    (i32.store (i32.const 24) (i32.const -1))
    (i32.const 16))
