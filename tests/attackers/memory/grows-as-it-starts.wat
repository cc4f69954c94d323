;; tries: to have more memory than a call may, in its start function
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; reads: enumerate exceeded its 4MiB of memory (limits.memory)
;; wins: reaches 640 pages
;; off: as grows
(func $grow (drop (memory.grow (i32.const 640))))
(start $grow)
(enumerate (call $reached (memory.size)) (call $one))
