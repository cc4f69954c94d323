;; tries: to have its runner take 40 MiB of the node, by a write to each of its pages
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; reads: enumerate exceeded its 4MiB of memory (limits.memory)
;; wins: has 40 MiB
;; off: limits: {memory: 48MiB, cpu: 10s, deadline: 20s}
(enumerate
    (loop $again
        (local.set $at (i32.mul (memory.size) (i32.const 65536)))
        (drop (memory.grow (i32.const 1)))
        (memory.fill (local.get $at) (i32.const 1) (i32.const 65536))
        (br_if $again (i32.lt_u (memory.size) (i32.const 720))))
    ;; Held for as long as it takes to be looked at.
    (loop $held (br_if $held (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 600000000))))
    (call $one))
