;; tries: to pass half of a character, as UTF-16 has them, to the host
;; stopped by: checks of what is passed
;; asks: Allocate
;; reads: allocate broke the contract: invalid utf-8 sequence of 1 bytes from index 2
;; wins: says @name has won
;; off: as passes-what-is-no-text
(allocate
    (call $say @s("a \ed\a0\80 b"))
    (call $win)
    (call $edits))
