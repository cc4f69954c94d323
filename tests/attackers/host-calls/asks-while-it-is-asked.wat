;; tries: to call the host in the midst of a call to the host: in the function that gives room for the answer
;; stopped by: one call at a time
;; reads: enumerate trapped: cannot leave component instance
;; wins: reaches 2 calls at once
;; off: none, because the engine lets no component out of that function
(global $depth (mut i32) (i32.const 0))
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
    (call $config (global.get $ret))
    (call $reached (global.get $depth))
    (i32.const 65536))
(enumerate (call $config (global.get $ret)) (call $one))
