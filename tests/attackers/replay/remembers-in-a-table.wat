;; tries: to find in a table an entry that an earlier call made
;; stopped by: an instance for each call
;; asks: Allocate, 3 times
;; reads: its table is as at first
;; wins: says @name has won
;; off: none, because each call has an instance of its own, and nothing makes one last
(table $kept 16 funcref)
(elem declare func $spill)
(func $spill (table.set $kept (i32.const 7) (ref.func $spill)))
(enumerate (call $spill) (call $one))
(allocate
    (if (ref.is_null (table.get $kept (i32.const 7)))
        (then (call $say @s("its table is as at first")))
        (else (call $win)))
    (call $spill)
    (call $edits))
