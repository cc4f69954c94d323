;; tries: to be taken for a plugin by a section that says that it is one
;; stopped by: exports
;; reads: component does not export devgate:plugin/plugin@0.1.0
;; wins: registers @resource
;; off: none, because there is nothing in it to call
(raw "\00asm\0d\00\01\00")
(section "component-type" "devgate:plugin/plugin@0.1.0" 20)
(section "producers" "devgate")
