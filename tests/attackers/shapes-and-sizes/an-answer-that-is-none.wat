;; tries: to answer neither that it went well nor that it failed
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: invalid expected discriminant
;; wins: offers @name
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate
    (drop (call $one))
    (i32.store (i32.const 16) (i32.const 5))
    (i32.const 16))
