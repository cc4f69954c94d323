;; tries: to fill a disk, 64 KiB at a time
;; stopped by: limits.transfer
;; policy: state: true
;; policy: limits: {transfer: 512KiB, deadline: 20s}
;; reads: enumerate exceeded its 512KiB passed to and from the host (limits.transfer)
;; wins: reaches 20
;; off: limits: {transfer: 6MiB, cpu: 2s, deadline: 20s}
(enumerate
    (loop $again
        (call $store (i32.const 0) (i32.const 65536) (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 40))))
    (call $one))
