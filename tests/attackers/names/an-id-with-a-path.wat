;; tries: to leave a directory by an id
;; stopped by: gate: ids
;; reads: id ../../x of @resource: must start with a letter or digit
;; wins: offers ../../x
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("../../x")) (call $pools))
