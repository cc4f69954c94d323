;; tries: to have 4 GiB, all that it can address
;; stopped by: limits.memory
;; reads: enumerate exceeded its 16MiB of memory (limits.memory)
;; wins: says @name has won
;; off: as grows
(enumerate
    (if (i32.ne (memory.grow (i32.sub (i32.const 65535) (memory.size))) (i32.const -1)) (then (call $win)))
    (call $one))
