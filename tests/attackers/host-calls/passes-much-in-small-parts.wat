;; tries: to pass 8 MiB to the host in texts that each are short enough
;; stopped by: limits.transfer
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; reads: enumerate exceeded its 1028KiB passed to and from the host (limits.transfer)
;; wins: reaches 2000 texts
;; off: limits: {transfer: 16MiB, cpu: 5s, deadline: 20s}
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
(enumerate
    (local.set $h (call $own))
    (loop $again
        (call $attribute (local.get $h) @s("x" 4000) (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 3000))))
    (call $one))
