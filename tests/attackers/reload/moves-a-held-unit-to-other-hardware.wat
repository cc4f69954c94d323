;; tries: to be put in force with other hardware behind the id that a pod holds
;; stopped by: reload by trial
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; asks: Allocate
;; asks: change
;; reads: which a pod may hold, would be other hardware; wait until its pods are gone
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $backing (call $own)) (call $pools))
