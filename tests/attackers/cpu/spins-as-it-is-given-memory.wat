;; tries: to compute in the function that the host calls for room, before the call itself has begun
;; stopped by: limits.cpu
;; reads: health exceeded its 100ms of processor time (limits.cpu)
;; wins: says @name has won
;; off: as spins
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $n i32)
    (loop $again (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2000000000))))
    (i32.const 65536))
(health (call $win) (call $healthy (local.get $count)))
