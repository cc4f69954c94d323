;; tries: to start with five times the memory that a call may have
;; stopped by: limits.memory at load
;; policy: limits: {memory: 4MiB, deadline: 20s}
;; reads: component starts with 20MiB of memory, more than 4MiB (limits.memory)
;; wins: offers @name
;; off: limits: {memory: 48MiB, deadline: 20s}
(memory $memory (export "memory") 320)
