;; tries: to write a line of 1 MiB
;; stopped by: length of a line
;; policy: limits: {log: 1MiB, transfer: 64MiB, cpu: 2s, deadline: 20s}
;; reads: begins here xxxxxxxx
;; wins: says ends here
;; wins: logs 10240 bytes
;; off: none, because the length is a constant, held where a line enters
(enumerate
    (local.set $at (i32.mul (memory.size) (i32.const 65536)))
    (drop (memory.grow (i32.const 16)))
    (memory.fill (local.get $at) (i32.const 120) (i32.const 1048576))
    (memory.copy (local.get $at) @s("begins here "))
    (memory.copy (i32.add (local.get $at) (i32.const 1048567)) @s("ends here"))
    (call $say (local.get $at) (i32.const 1048576))
    (call $one))
