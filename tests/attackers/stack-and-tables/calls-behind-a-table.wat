;; tries: to call what is in its runner's memory behind a table
;; stopped by: checks of a call by table
;; reads: health trapped: undefined element: out of bounds table access at
;; wins: says @name has won
;; off: as calls-as-another-type
(table $calls 2 funcref)
(type $none (func))
(health
    (call_indirect $calls (type $none) (i32.const 0x7fffffff))
    (call $win)
    (call $healthy (local.get $count)))
