;; tries: to be read while it is written
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: component is not valid: unexpected end-of-file
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $win) (call $one))
(cut 3000)
