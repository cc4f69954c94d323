;; tries: to have the host write an answer at an odd address
;; stopped by: checks of what is passed
;; asks: Allocate
;; reads: allocate broke the contract: pointer not aligned
;; wins: says @name has won
;; off: as passes-what-is-no-text
(allocate
    (call $config (i32.const 129))
    (call $win)
    (call $edits))
