;; tries: to have more functions compiled than a component may have
;; stopped by: limits.functions
;; policy: limits: {functions: 100, deadline: 20s}
;; reads: more than 100 (limits.functions)
;; wins: registers @resource
;; off: limits: {functions: 1000, deadline: 20s}
(enumerate (call $one))
(inner (core module @for(i 0 300){(func)}))
