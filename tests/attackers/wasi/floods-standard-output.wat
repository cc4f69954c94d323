;; tries: to write without end
;; stopped by: limits.transfer
;; policy: limits: {cpu: 10s, deadline: 20s, transfer: 1MiB}
;; reads: enumerate exceeded its 1MiB passed to and from the host (limits.transfer)
;; wins: reaches 2000 writes
;; off: limits: {cpu: 10s, deadline: 20s, transfer: 64MiB, host-calls: 1000000}
(enumerate
    (local.set $h (call $stdout))
    (loop $again
        (call $print (local.get $h) (i32.const 0x1000) (i32.const 4096) (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 3000))))
    (call $one))
