;; tries: to write an annotation by which another vendor's runtime acts
;; stopped by: gate: annotations
;; asks: Allocate
;; reads: annotation vendor.com/mode is not granted (containers.annotations)
;; wins: gives annotation vendor.com/mode=root
;; off: containers: {annotations: {vendor.com/mode: any}}
(allocate (call $annotation @s("vendor.com/mode") @s("root")) (call $edits))
