;; tries: to offer an id of 64 bytes
;; stopped by: gate: ids
;; reads: of @resource: must have 1 to 63 bytes
;; wins: offers xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("x" 64)) (call $pools))
