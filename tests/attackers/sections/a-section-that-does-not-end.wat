;; tries: to have the host read beyond the file
;; stopped by: validation
;; reads: component is not valid: unexpected end-of-file (at offset 0xe)
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(raw "\00asm\0d\00\01\00" "\00\ff\ff\ff\ff\0f\01a")
