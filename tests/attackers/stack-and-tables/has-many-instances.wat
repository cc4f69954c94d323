;; tries: to have one module made into a hundred instances at each call
;; stopped by: limits.instances
;; reads: core instances, more than 8 (limits.instances)
;; wins: offers @name
;; off: limits: {instances: 120, deadline: 20s}
(inner
    (core module $m (func (export "f")))
    @for(i 0 100){(core instance (instantiate $m))
    })
