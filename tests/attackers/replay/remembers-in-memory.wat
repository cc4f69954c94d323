;; tries: to find in its memory, grown and written to the end, what an earlier call left there
;; stopped by: an instance for each call
;; asks: Allocate, 3 times
;; reads: its memory is as at first
;; wins: says @name has won
;; off: none, because each call has an instance of its own, and nothing makes one last
(func $spill
    (local $at i32)
    (local.set $at (i32.mul (memory.grow (i32.const 4)) (i32.const 65536)))
    (memory.fill (local.get $at) (i32.const 0x5a) (i32.const 262144))
    (i32.store (i32.const 3000) (i32.const 0x5a5a5a5a)))
(enumerate (call $spill) (call $one))
(health (call $spill) (call $healthy (local.get $count)))
(allocate
    (local.set $at (i32.mul (memory.grow (i32.const 4)) (i32.const 65536)))
    (local.set $h (i32.load (i32.const 3000)))
    (loop $again
        (local.set $h (i32.or (local.get $h) (i32.load (i32.add (local.get $at) (local.get $i)))))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4))) (i32.const 262144))))
    (if (local.get $h) (then (call $win)) (else (call $say @s("its memory is as at first"))))
    (call $spill)
    (call $edits))
