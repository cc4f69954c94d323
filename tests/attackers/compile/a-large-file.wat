;; tries: to have a larger file compiled than a component may be
;; stopped by: limits.component-size
;; policy: limits: {component-size: 8KiB, deadline: 20s}
;; reads: more than 8KiB (limits.component-size)
;; wins: registers @resource
;; off: limits: {component-size: 1MiB, deadline: 20s}
(enumerate @for(i 0 3000){(i32.store (i32.const 1024) (i32.const @i))} (call $one))
