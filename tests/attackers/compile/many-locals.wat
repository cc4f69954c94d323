;; tries: to have a function with more variables than one may have
;; stopped by: validation
;; reads: component is not valid: too many locals: locals exceed maximum
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(component (core module $m (func @for(i 0 60000){(local i64)})))
