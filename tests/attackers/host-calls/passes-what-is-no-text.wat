;; tries: to pass bytes to the host as a text that are none
;; stopped by: checks of what is passed
;; reads: enumerate broke the contract: invalid utf-8 sequence of 1 bytes from index 2
;; wins: says @name has won
;; off: none, because the engine makes each argument of what is in memory, and makes no other
(enumerate
    (call $say @s("a \ff\fe\c0\80 b"))
    (call $win)
    (call $one))
