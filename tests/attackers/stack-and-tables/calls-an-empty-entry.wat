;; tries: to call what a table has nothing for
;; stopped by: checks of a call by table
;; asks: Allocate
;; reads: allocate trapped: uninitialized element at
;; wins: says @name has won
;; off: as calls-as-another-type
(table $calls 2 funcref)
(type $none (func))
(allocate (call_indirect $calls (type $none) (i32.const 1)) (call $win) (call $edits))
