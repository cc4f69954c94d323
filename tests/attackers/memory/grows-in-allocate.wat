;; tries: to have, while a pod waits, what each call before it left to it
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; asks: Allocate, 2 times
;; reads: allocate exceeded its 4MiB of memory (limits.memory)
;; wins: reaches 640 pages
;; off: as grows
(enumerate (drop (memory.grow (i32.const 8))) (call $one))
(health (drop (memory.grow (i32.const 8))) (call $healthy (local.get $count)))
(allocate
    (loop $again
        (drop (memory.grow (i32.const 8)))
        (call $reached (memory.size))
        (br $again))
    (unreachable))
