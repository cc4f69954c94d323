;; tries: to answer beside its memory
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: pointer out of bounds of memory
;; wins: registers @resource
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate (i32.const 0xfffffff0))
