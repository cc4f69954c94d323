;; tries: to be put in force with an import that the policy does not grant
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: component asks for what it does not get
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $store @s("more") (global.get $ret)) (call $win) (call $one))
