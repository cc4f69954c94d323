;; tries: to have the host go through 500,000 sections without anything in them
;; stopped by: exports
;; reads: component does not export devgate:plugin/plugin@0.1.0
;; wins: registers @resource
;; off: none, because there is nothing in it to call
(raw "\00asm\0d\00\01\00" "\00\01\00" 500000)
