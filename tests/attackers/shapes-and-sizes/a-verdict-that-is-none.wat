;; tries: to answer with a verdict that there is not
;; stopped by: canonical ABI
;; reads: health broke the contract: unexpected discriminant: 7
;; wins: says is what it is
;; off: none, because the engine reads each answer by its type, and there is no other way in
(health (call $verdict (i32.const 7) @s("is what it is")) (call $verdicts))
