;; tries: to write thousands of short lines, of which all else of a line is the most
;; stopped by: limits.log
;; policy: limits: {log: 1KiB, cpu: 2s, deadline: 20s}
;; reads: bytes dropped: one call may log 1KiB (limits.log)
;; wins: logs 3000 bytes
;; off: limits: {log: 128KiB, cpu: 2s, deadline: 20s}
(enumerate
    (loop $again
        (call $say_number (local.get $n))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 900))))
    (call $one))
