;; tries: to read what of its runner is behind its memory
;; stopped by: bounds of a memory
;; reads: enumerate trapped: out of bounds memory access at
;; wins: says @name has won
;; off: as gives-room-beyond-its-memory
(enumerate
    (drop (i64.load offset=4294967295 (i32.const -1)))
    (call $win)
    (call $one))
