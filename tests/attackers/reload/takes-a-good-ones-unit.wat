;; tries: to be put in force with a resource of the good plugin
;; stopped by: gate: resources
;; asks: Allocate
;; asks: change
;; reads: resource devgate.dev/bench0: the policy does not grant this name (resources)
;; wins: offers stolen
;; off: as offers-a-good-ones-resource
(enumerate (call $one))
;; becomes
(enumerate
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $pool @s("devgate.dev/bench0")) (call $unit @s("stolen"))
    (call $pools))
