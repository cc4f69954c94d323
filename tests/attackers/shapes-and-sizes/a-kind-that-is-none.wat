;; tries: to fail in a way that there is not
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: unexpected discriminant: 99
;; wins: says has failed as told
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate (call $fail (i32.const 99) @s("has failed as told")))
