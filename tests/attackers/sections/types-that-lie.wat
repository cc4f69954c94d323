;; tries: to have room made for 4,294,967,295 types, of which there is none
;; stopped by: validation
;; reads: component is not valid: types count exceeds limit of 1000000 (at offset 0xa)
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(raw "\00asm\0d\00\01\00" "\07\05\ff\ff\ff\ff\0f")
