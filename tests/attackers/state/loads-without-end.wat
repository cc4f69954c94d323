;; tries: to have the host read and copy what it kept without end
;; stopped by: limits.read
;; policy: state: true
;; policy: limits: {read: 512KiB, deadline: 20s}
;; reads: enumerate exceeded its 512KiB read from the node (limits.read)
;; wins: reaches 20
;; off: limits: {read: 6MiB, transfer: 6MiB, cpu: 2s, deadline: 20s}
(enumerate
    (call $store (i32.const 0) (i32.const 60000) (global.get $ret))
    (loop $again
        (global.set $free (i32.const 0x300000))
        (call $load (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 40))))
    (call $one))
