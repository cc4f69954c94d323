;; tries: to offer an id that is not UTF-8
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: invalid utf-8 sequence of 1 bytes from index 0
;; wins: registers @resource
;; off: none, because the engine reads each answer by its type, and there is no other way in
(enumerate (call $pool @s("@resource")) (call $unit @s("\ff\fe")) (call $pools))
