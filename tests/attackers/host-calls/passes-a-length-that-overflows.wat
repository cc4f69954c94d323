;; tries: to pass a text whose address and length together are past 32 bits
;; stopped by: checks of what is passed
;; asks: Allocate
;; reads: allocate broke the contract: string pointer/length out of bounds of memory
;; wins: says @name has won
;; off: as passes-what-is-no-text
(allocate
    (call $say (i32.const 65536) (i32.const 0xffffffff))
    (call $win)
    (call $edits))
