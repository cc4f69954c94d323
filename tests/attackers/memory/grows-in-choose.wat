;; tries: to have more memory than a call may, while the kubelet asks which unit a pod shall get
;; stopped by: limits.memory
;; policy: limits: {memory: 4MiB, cpu: 2s, deadline: 20s}
;; asks: prefer 1 of first, second
;; reads: choose exceeded its 4MiB of memory (limits.memory)
;; wins: reaches 640 pages
;; off: as grows
(choose
    (drop (memory.grow (i32.const 640)))
    (call $reached (memory.size))
    (call $cdi @s("second"))
    (call $chosen))
;; Of one unit nothing is asked.
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("first"))
    (call $unit @s("second"))
    (call $pools))
