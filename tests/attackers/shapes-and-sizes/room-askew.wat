;; tries: to have the host write what has 4 bytes to an odd address
;; stopped by: canonical ABI
;; reads: health broke the contract: realloc return: result not aligned
;; wins: says @name has won
;; off: none, because the engine reads each answer by its type, and there is no other way in
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0x180001))
(health (call $win) (call $healthy (i32.const 1)))
