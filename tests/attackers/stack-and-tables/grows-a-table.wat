;; tries: to have a table of ten times the elements that one may have, a thousand after a thousand
;; stopped by: limits.table-elements
;; policy: limits: {table-elements: 1000, deadline: 20s}
;; reads: enumerate exceeded its 1000 table elements (limits.table-elements)
;; wins: reaches 10000 elements
;; off: limits: {table-elements: 12000, deadline: 20s}
(table $wide 10 funcref)
(enumerate
    (loop $again
        (drop (table.grow $wide (ref.null func) (i32.const 100)))
        (call $reached (table.size $wide))
        (br_if $again (i32.lt_u (table.size $wide) (i32.const 11000))))
    (call $one))
