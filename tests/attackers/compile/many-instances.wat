;; tries: to have 200 instances put together
;; stopped by: limits.instances
;; reads: (limits.instances)
;; wins: registers @resource
;; off: limits: {instances: 1000, deadline: 20s}
(enumerate (call $one))
(inner (core module $m) @for(i 0 200){(core instance (instantiate $m))})
