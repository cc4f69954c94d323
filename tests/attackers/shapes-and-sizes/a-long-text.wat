;; tries: to offer an id of 4,097 bytes
;; stopped by: answer
;; reads: enumerate broke the contract: a unit's id has 4097 bytes; at most 4096 are allowed
;; wins: registers @resource
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate (call $pool @s("@resource")) (call $unit @s("x" 4097)) (call $pools))
