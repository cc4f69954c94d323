;; tries: to have a hundred times the memory that a call may have, page after page
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; reads: enumerate exceeded its 4MiB of memory (limits.memory)
;; wins: reaches 640 pages
;; off: limits: {memory: 48MiB, cpu: 2s, deadline: 20s}
(enumerate
    (loop $again
        (drop (memory.grow (i32.const 1)))
        ;; The page is touched, too.
        (i32.store (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4)) (i32.const 1))
        (call $reached (memory.size))
        (br $again))
    (unreachable))
