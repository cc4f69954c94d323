;; tries: to offer a unit as the resource of an earlier plugin
;; stopped by: gate: resources
;; reads: resource devgate.dev/bench0: the policy does not grant this name (resources)
;; wins: offers stolen
;; off: unchecked
(enumerate
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $pool @s("devgate.dev/bench0")) (call $unit @s("stolen"))
    (call $pools))
