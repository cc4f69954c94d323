;; tries: to have a function compiled that is larger than one may be
;; stopped by: limits.function-size
;; policy: limits: {function-size: 1KiB, deadline: 20s}
;; reads: limits.function-size
;; wins: registers @resource
;; off: limits: {function-size: 64KiB, deadline: 20s}
(func $large @for(i 0 2000){(i32.store (i32.const 1024) (i32.const @i))})
(enumerate (call $one))
