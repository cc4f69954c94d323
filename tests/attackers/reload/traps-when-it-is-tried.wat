;; tries: to be put in force with an `enumerate` that traps
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: not reloaded, what was in force goes on
;; reads: enumerate trapped: wasm `unreachable` instruction executed
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (unreachable))
