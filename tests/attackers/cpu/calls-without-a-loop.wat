;; tries: to compute for years without one loop: each function calls the next one twice
;; stopped by: limits.cpu
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: as spins
(func $twice (param i32)
    (if (local.get 0)
        (then
            (call $twice (i32.sub (local.get 0) (i32.const 1)))
            (call $twice (i32.sub (local.get 0) (i32.const 1))))))
(allocate (call $twice (i32.const 60)) (call $edits))
