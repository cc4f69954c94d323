;; tries: to have 1,001 imports looked up and listed
;; stopped by: most names
;; reads: component has 1001 imports, more than 1000
;; wins: logs 20000 bytes
;; off: none, because how many names there may be is a constant
(component @for(i 0 1001){(import "a:b/c@i" (instance))})
