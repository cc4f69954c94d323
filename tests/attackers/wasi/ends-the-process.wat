;; tries: to end its host as if something had failed
;; stopped by: exit ends a call
;; reads: enumerate exited with status 1
;; wins: says @name has won
;; off: none, because the host has no exit that ends it
(enumerate (call $exit (i32.const 1)) (call $win) (call $one))
