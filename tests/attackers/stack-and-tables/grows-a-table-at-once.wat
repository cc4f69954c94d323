;; tries: to have a table of all the elements that can be numbered
;; stopped by: limits.table-elements
;; asks: Allocate
;; reads: allocate exceeded its 10000 table elements (limits.table-elements)
;; wins: says @name has won
;; off: as grows-a-table
(table $wide 10 funcref)
(allocate
    (if (i32.ne (table.grow $wide (ref.null func) (i32.const 0xfffffff0)) (i32.const -1)) (then (call $win)))
    (call $edits))
