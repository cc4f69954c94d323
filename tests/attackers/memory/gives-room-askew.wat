;; tries: to have the host write records at an odd address
;; stopped by: bounds of a memory
;; reads: health broke the contract: realloc return: result not aligned
;; wins: says @name has won
;; off: as gives-room-beyond-its-memory
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65537))
(health (call $win) (call $healthy (local.get $count)))
