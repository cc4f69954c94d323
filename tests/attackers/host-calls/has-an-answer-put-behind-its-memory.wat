;; tries: to have the host write an answer behind its memory
;; stopped by: checks of what is passed
;; reads: enumerate broke the contract: pointer out of bounds
;; wins: says @name has won
;; off: as passes-what-is-no-text
(enumerate
    (call $config (i32.const 0xfffffff0))
    (call $win)
    (call $one))
