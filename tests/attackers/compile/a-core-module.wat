;; tries: to have a module run that is no component
;; stopped by: validation
;; reads: component is a core module, not a component
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(raw "\00asm\01\00\00\00")
