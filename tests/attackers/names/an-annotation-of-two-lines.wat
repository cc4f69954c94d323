;; tries: to give a container an annotation whose name has two lines
;; stopped by: gate: annotations
;; asks: Allocate
;; reads: annotation a\nb is not granted (containers.annotations)
;; wins: gives annotation a\nb=c
;; off: unchecked
(allocate (call $annotation @s("a\nb") @s("c")) (call $edits))
