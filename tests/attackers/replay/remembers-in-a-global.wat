;; tries: to remember in a global what an earlier call was told
;; stopped by: an instance for each call
;; asks: Allocate
;; reads: what it remembers is nothing
;; wins: says @name has won
;; off: none, because each call has an instance of its own, and nothing makes one last
(global $kept (mut i32) (i32.const 0))
(enumerate (global.set $kept (i32.const 1)) (call $one))
(health (global.set $kept (i32.const 1)) (call $healthy (local.get $count)))
(allocate
    (if (global.get $kept) (then (call $win)) (else (call $say @s("what it remembers is nothing"))))
    (call $edits))
