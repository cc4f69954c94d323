;; tries: to have ten times the memory that a call may have, with one instruction
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; reads: enumerate exceeded its 4MiB of memory (limits.memory)
;; wins: reaches 640 pages
;; off: limits: {memory: 48MiB, cpu: 2s, deadline: 20s}
(enumerate
    (drop (memory.grow (i32.const 640)))
    (call $reached (memory.size))
    (call $one))
