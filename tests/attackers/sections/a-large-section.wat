;; tries: to have a file of 20 MiB kept that is nothing but a section of its vendor
;; stopped by: limits.component-size
;; reads: (limits.component-size)
;; wins: registers @resource
;; off: limits: {component-size: 32MiB, deadline: 20s}
(enumerate (call $one))
(section "vendor" "x" 20971520)
