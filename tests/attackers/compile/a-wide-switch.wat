;; tries: to have a jump to 30,000 places compiled
;; stopped by: limits.function-size
;; policy: limits: {function-size: 16KiB, deadline: 20s}
;; reads: more than 16KiB (limits.function-size)
;; wins: registers @resource
;; off: limits: {function-size: 256KiB, deadline: 20s}
(func $wide (param i32) (block $b (br_table @for(i 0 30000){$b } $b (local.get 0))))
(enumerate (call $wide (i32.const 7)) (call $one))
