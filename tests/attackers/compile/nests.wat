;; tries: to have components within components, 20 deep
;; stopped by: depth
;; reads: component has 9 components within components, more than 8
;; wins: registers @resource
;; off: none, because the depth is a constant
(component @for(i 0 20){(component } @for(i 0 20){) })
