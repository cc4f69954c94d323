;; tries: to fill the log by its standard output, which is none of the contract's functions
;; stopped by: limits.log
;; policy: limits: {log: 1KiB, transfer: 64MiB, cpu: 2s, deadline: 20s}
;; reads: bytes dropped: one call may log 1KiB (limits.log)
;; wins: logs 10240 bytes
;; off: limits: {log: 64KiB, transfer: 64MiB, cpu: 2s, deadline: 20s}
(enumerate
    (memory.fill (i32.const 1024) (i32.const 120) (i32.const 1000))
    (i32.store8 (i32.const 2023) (i32.const 10))
    (local.set $h (call $stdout))
    (loop $again
        (i32.store8 (i32.const 1024) (i32.add (i32.const 65) (local.get $n)))
        (call $print (local.get $h) (i32.const 1024) (i32.const 1000) (global.get $ret))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 40))))
    (call $one))
