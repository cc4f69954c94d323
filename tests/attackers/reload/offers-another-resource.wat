;; tries: to be put in force with a resource that the policy does not give it
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: which a pod may hold, would not be offered any more; wait until its pods are gone
;; wins: registers test.dev/stolen
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $pool @s("test.dev/stolen")) (call $unit @s("@name")) (call $pools))
