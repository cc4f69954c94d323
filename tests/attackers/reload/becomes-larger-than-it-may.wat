;; tries: to be put in force as a file that is larger than the policy lets it
;; stopped by: reload by trial
;; policy: limits: {component-size: 1MiB, deadline: 20s}
;; asks: Allocate
;; asks: change
;; reads: more than 1MiB (limits.component-size)
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $win) (call $one))
(section "large" "xxxxxxxxxxxxxxxx" 131072)
