;; tries: to have 1,500 exports looked up and listed
;; stopped by: most names
;; reads: component has 1500 exports, more than 1000
;; wins: logs 20000 bytes
;; off: none, because how many names there may be is a constant
(component (instance $i) @for(i 0 1500){(export "a:b/c@i" (instance $i))})
