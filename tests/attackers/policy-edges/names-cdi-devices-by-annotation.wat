;; tries: to name CDI devices by an annotation, beside the rules for them
;; stopped by: gate: annotations
;; asks: Allocate
;; reads: names CDI devices, which the component has to name in the edit "cdi"
;; wins: gives annotation cdi.k8s.io/edges=nvidia.com/gpu=all
;; off: unchecked
(allocate (call $annotation @s("cdi.k8s.io/edges") @s("nvidia.com/gpu=all")) (call $edits))
