;; tries: to have an empty file loaded
;; stopped by: validation
;; reads: component is empty
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(raw "")
