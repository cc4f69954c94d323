;; tries: to have 64 MiB before its first call
;; stopped by: limits.memory
;; policy: limits: {memory: 8MiB, deadline: 20s}
;; reads: (limits.memory)
;; wins: registers @resource
;; off: limits: {memory: 128MiB, deadline: 20s}
(memory $memory (export "memory") 1024)
(enumerate (call $one))
