;; tries: to have a line cut at a NUL by what reads it as C does, so that the rest is not seen
;; stopped by: escaping
;; reads: seen\0unseen
;; wins: says \00
;; off: unchecked
(enumerate (call $say @s("seen\00unseen")) (call $one))
