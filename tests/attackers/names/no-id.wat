;; tries: to offer a unit without an id
;; stopped by: gate: ids
;; reads: of @resource: must have 1 to 63 bytes
;; wins: offers
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("")) (call $pools))
