;; tries: to write over what of its runner is behind its memory, with one instruction
;; stopped by: bounds of a memory
;; reads: enumerate trapped: out of bounds memory access at
;; wins: says @name has won
;; off: as gives-room-beyond-its-memory
(enumerate
    (memory.fill (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 65536)) (i32.const 65) (i32.const 131072))
    (call $win)
    (call $one))
