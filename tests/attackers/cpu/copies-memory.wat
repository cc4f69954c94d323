;; tries: to copy 8 MiB onto themselves over and over, each time in one instruction, one byte askew
;; stopped by: limits.cpu
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: as spins
(allocate
    (drop (memory.grow (i32.const 144)))
    (loop $again
        (memory.copy (i32.const 3145729) (i32.const 3145728) (i32.const 8388608))
        (br $again))
    (unreachable))
