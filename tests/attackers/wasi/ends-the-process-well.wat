;; tries: to end its host as if all were done
;; stopped by: exit ends a call
;; asks: Allocate
;; reads: allocate exited with status 0
;; wins: gives answer
;; off: none, because the host has no exit that ends it
(allocate (call $exit (i32.const 0)) (call $edits))
