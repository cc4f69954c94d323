;; tries: to say nothing of a unit's health
;; stopped by: answer
;; reads: health broke the contract: 0 verdicts for 1 units
;; wins: says @name has won
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(health (call $healthy (i32.const 0)))
