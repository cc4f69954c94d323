;; tries: to be put in force without the unit that a pod holds
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: which a pod may hold, would not be offered any more; wait until its pods are gone
;; wins: offers other
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $pool @s("@resource")) (call $unit @s("other")) (call $pools))
