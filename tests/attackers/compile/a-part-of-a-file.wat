;; tries: to have the first 900 bytes of a component compiled
;; stopped by: validation
;; reads: component is not valid: unexpected end-of-file
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(enumerate (call $one))
(cut 900)
