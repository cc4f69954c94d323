;; tries: to have the host write its units behind the end of its memory
;; stopped by: bounds of a memory
;; reads: health broke the contract: realloc return: beyond end of memory
;; wins: says @name has won
;; off: none, because each copy into a memory is held to its size by the engine, as each of its own instructions is
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4)))
(health (call $win) (call $healthy (local.get $count)))
