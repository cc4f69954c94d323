;; tries: to write into its runner's memory behind a table
;; stopped by: checks of a call by table
;; reads: enumerate trapped: undefined element: out of bounds table access at
;; wins: says @name has won
;; off: as calls-as-another-type
(table $calls 2 funcref)
(enumerate
    (table.fill $calls (i32.const 1) (ref.null func) (i32.const 0xffff))
    (call $win)
    (call $one))
