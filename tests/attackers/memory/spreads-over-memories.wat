;; tries: to have more memory than a call may, a part in each of two memories
;; stopped by: limits.memory at load
;; policy: limits: {memories: 2, memory: 4MiB, deadline: 20s}
;; reads: component starts with 6976KiB of memory, more than 4MiB (limits.memory)
;; wins: offers @name
;; off: limits: {memories: 2, memory: 16MiB, deadline: 20s}
(inner (core module $m (memory 60)) (core instance (instantiate $m)))
