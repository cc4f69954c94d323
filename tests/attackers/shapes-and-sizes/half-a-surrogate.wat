;; tries: to offer an id with a half of a UTF-16 pair
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: invalid utf-8 sequence of 1 bytes from index 1
;; wins: registers @resource
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate (call $pool @s("@resource")) (call $unit @s("a\ed\a0\80b")) (call $pools))
