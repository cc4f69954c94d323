;; tries: to hold up a reload, or to be put in force, with an `enumerate` that does not end
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: not reloaded, what was in force goes on
;; reads: exceeded its 100ms of processor time
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (loop $again (br $again)) (unreachable))
