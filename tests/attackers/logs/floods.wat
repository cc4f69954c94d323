;; tries: to fill the log in one call
;; stopped by: limits.log
;; policy: limits: {log: 1KiB, deadline: 20s, cpu: 2s, transfer: 64MiB}
;; reads: bytes dropped: one call may log 1KiB (limits.log)
;; wins: logs 10240 bytes
;; off: limits: {log: 64KiB, deadline: 20s, cpu: 2s, transfer: 64MiB}
(enumerate
    ;; Each line another one, of 1,000 letters: what was said already would be logged as `debug`.
    (memory.fill (i32.const 1024) (i32.const 120) (i32.const 1000))
    (loop $again
        (i32.store8 (i32.const 1024) (i32.add (i32.const 65) (local.get $n)))
        (call $say (i32.const 1024) (i32.const 1000))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 40))))
    (call $one))
