;; tries: to have the host copy an argument to beside its memory
;; stopped by: canonical ABI
;; reads: enumerate broke the contract: realloc return: beyond end of memory
;; wins: says @name has won
;; off: none, because the engine reads each answer by its type, and there is no other way in
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0xfffff000))
(enumerate
    (call $config (global.get $ret))
    (call $win)
    (call $one))
