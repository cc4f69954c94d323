;; tries: to have the host read files of the node without end
;; stopped by: limits.read
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; policy: limits: {read: 4KiB, host-calls: 1000000, transfer: 64MiB, cpu: 5s, deadline: 20s}
;; reads: enumerate exceeded its 20KiB read from the node (limits.read)
;; wins: reaches 60000 reads
;; off: limits: {read: 64MiB, host-calls: 1000000, transfer: 64MiB, cpu: 10s, deadline: 20s}
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
(enumerate
    (local.set $h (call $own))
    (loop $again
        (call $attribute (local.get $h) @s("dev") (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 70000))))
    (call $one))
