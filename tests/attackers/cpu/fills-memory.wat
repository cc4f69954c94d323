;; tries: to fill 8 MiB over and over, each time in one instruction, in which nothing looks at a clock
;; stopped by: limits.cpu
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: as spins
(allocate
    (drop (memory.grow (i32.const 144)))
    (loop $again
        (memory.fill (i32.const 3145728) (local.get $n) (i32.const 8388608))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $again))
    (unreachable))
