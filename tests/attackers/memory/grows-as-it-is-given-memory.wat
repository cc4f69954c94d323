;; tries: to have more memory than a call may, in the function that the host calls for room
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; reads: health exceeded its 4MiB of memory (limits.memory)
;; wins: reaches 640 pages
;; off: as grows
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (loop $again
        (drop (memory.grow (i32.const 1)))
        (br_if $again (i32.lt_u (memory.size) (i32.const 640))))
    (i32.const 65536))
(health (call $reached (memory.size)) (call $healthy (local.get $count)))
