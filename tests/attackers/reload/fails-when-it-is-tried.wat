;; tries: to be put in force with an `enumerate` that fails, so that all that pods hold would be gone
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: enumerate failed: nothing to be read here
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $fail (i32.const 4) @s("nothing to be read here")))
