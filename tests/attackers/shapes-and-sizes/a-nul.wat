;; tries: to have an id end early for what is written in C
;; stopped by: answer
;; reads: enumerate broke the contract: a unit's id contains a NUL
;; wins: offers @name
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate (call $pool @s("@resource")) (call $unit @s("@name\00b")) (call $pools))
