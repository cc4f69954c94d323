;; tries: to serve well at first, by a count of pods, and to give the fifth something else
;; stopped by: an instance for each call
;; asks: Allocate, 6 times
;; reads: this is the first pod that it knows of
;; wins: says @name has won
;; off: none, because each call has an instance of its own, and nothing makes one last
(global $pods (mut i32) (i32.const 0))
(allocate
    (global.set $pods (i32.add (global.get $pods) (i32.const 1)))
    (if (i32.ge_u (global.get $pods) (i32.const 2)) (then (call $win)))
    (call $say @s("this is the first pod that it knows of"))
    (call $edits))
