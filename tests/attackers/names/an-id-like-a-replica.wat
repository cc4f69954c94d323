;; tries: to offer an id that is a replica's of another unit
;; stopped by: gate: ids
;; reads: must not contain "::", which the host uses for replicas
;; wins: offers @name::1
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("@name::1")) (call $pools))
