;; tries: to fill the log with lines that are for debugging
;; stopped by: limits.log
;; policy: limits: {log: 1KiB, cpu: 2s, deadline: 20s}
;; reads: bytes dropped: one call may log 1KiB (limits.log)
;; wins: logs 10240 bytes
;; off: as floods
(enumerate
    (memory.fill (i32.const 1024) (i32.const 120) (i32.const 1000))
    (loop $again
        (i32.store8 (i32.const 1024) (i32.add (i32.const 65) (local.get $n)))
        (call $log (i32.const 0) (i32.const 1024) (i32.const 1000))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 40))))
    (call $one))
