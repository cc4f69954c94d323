;; tries: to recurse where the host stands on the stack, too: in the function that it calls for room
;; stopped by: stack
;; policy: limits: {cpu: 5s, deadline: 20s}
;; reads: enumerate exceeded its 256KiB stack
;; wins: says @name has won
;; off: as recurses
(func $deep (param i32) (result i32)
    (if (result i32) (local.get 0)
        (then (i32.add (local.get 0) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
        (else (i32.const 0))))
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (drop (call $deep (i32.const 10000000)))
    (i32.const 65536))
(enumerate (call $config (global.get $ret)) (call $win) (call $one))
