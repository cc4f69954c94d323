;; tries: to be put in force with nothing behind the id that a pod holds, and another id for the hardware
;; stopped by: reload by trial
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; asks: Allocate
;; asks: change
;; reads: which a pod may hold, would be other hardware; wait until its pods are gone
;; wins: offers @name-2
;; off: none, because there is no reload without a trial
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $backing (call $own)) (call $pools))
;; becomes
(enumerate
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $unit @s("@name-2")) (call $backing (call $own))
    (call $pools))
