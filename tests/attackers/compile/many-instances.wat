;; tries: to be put together of 21 instances of its own module, of which each has a memory
;; stopped by: limits.instances
;; policy: limits: {instances: 10, memories: 64, memory: 256MiB, deadline: 20s}
;; reads: more than 10 (limits.instances)
;; wins: registers @resource
;; off: limits: {instances: 100, memories: 64, memory: 256MiB, deadline: 20s}
(enumerate (call $one))
(inner (core module $m) @for(i 0 20){(core instance (instantiate 0))})
