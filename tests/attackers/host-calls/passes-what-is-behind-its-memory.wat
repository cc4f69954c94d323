;; tries: to have the host log what of its runner is behind its memory
;; stopped by: checks of what is passed
;; reads: enumerate broke the contract: string pointer/length out of bounds of memory
;; wins: says @name has won
;; off: as passes-what-is-no-text
(enumerate
    (call $say (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 16)) (i32.const 64))
    (call $win)
    (call $one))
