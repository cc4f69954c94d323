;; tries: to have a section's name read from beyond it
;; stopped by: validation
;; reads: component is not valid: unexpected end-of-file (at offset 0xb)
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(raw "\00asm\0d\00\01\00" "\00\02\7fa")
