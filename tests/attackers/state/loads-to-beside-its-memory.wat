;; tries: to have the host write what it kept beside its memory
;; stopped by: canonical ABI
;; policy: state: true
;; reads: enumerate broke the contract: realloc return: beyond end of memory
;; wins: says @name has won
;; off: none, because the engine checks where each answer goes, and there is no other way in
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0xfffffff0))
(enumerate
    (call $store @s("kept for later") (global.get $ret))
    (call $load (global.get $ret))
    (call $win)
    (call $one))
