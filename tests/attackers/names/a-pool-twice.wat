;; tries: to offer a resource in two pools
;; stopped by: gate: resources
;; reads: the same resource was listed before; one pool for each
;; wins: offers second
;; off: unchecked
(enumerate
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $pool @s("@resource")) (call $unit @s("second"))
    (call $pools))
