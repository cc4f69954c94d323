;; tries: to have machine code run that looks like a program of the system
;; stopped by: validation
;; reads: component is native code (precompiled or a program)
;; wins: registers @resource
;; off: none, because the engine makes nothing of what is not valid
(raw "\7fELF\02\01\01" "\00" 4000)
