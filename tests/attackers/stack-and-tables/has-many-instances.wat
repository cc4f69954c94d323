;; tries: to be made of a hundred instances more than its own
;; stopped by: limits.instances
;; reads: core instances, more than 8 (limits.instances)
;; wins: offers @name
;; off: as many-instances
(inner
    (core module $m (func (export "f")))
    @for(i 0 100){(core instance (instantiate $m))
    })
