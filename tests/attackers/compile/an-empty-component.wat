;; tries: to be loaded without what each plugin has
;; stopped by: exports
;; reads: component does not export devgate:plugin/plugin@0.1.0
;; wins: registers @resource
;; off: none, because there is nothing in it to call
(component)
