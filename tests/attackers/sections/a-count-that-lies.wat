;; tries: to have room made for 4,294,967,295 imports, of which there is none
;; stopped by: most names
;; reads: component has 4294967295 imports, more than 1000
;; wins: registers @resource
;; off: none, because how many names there may be is a constant
(raw "\00asm\0d\00\01\00" "\0a\05\ff\ff\ff\ff\0f")
