;; tries: to write a million lines without a letter, by one message
;; stopped by: limits.log
;; policy: limits: {log: 2KiB, transfer: 64MiB, cpu: 5s, deadline: 20s}
;; reads: 127998099 bytes dropped: one call may log 2KiB (limits.log)
;; wins: says has a million lines
;; wins: logs 10240 bytes
;; off: as floods
(enumerate
    (local.set $at (i32.mul (memory.size) (i32.const 65536)))
    (drop (memory.grow (i32.const 16)))
    (memory.fill (local.get $at) (i32.const 10) (i32.const 1000000))
    (call $say (local.get $at) (i32.const 1000000))
    (call $say @s("has a million lines"))
    (call $one))
