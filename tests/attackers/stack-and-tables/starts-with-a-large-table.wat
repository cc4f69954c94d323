;; tries: to start with ten times the elements that a table may have
;; stopped by: limits.table-elements at load
;; reads: component has 100000 table elements, more than 10000 (limits.table-elements)
;; wins: offers @name
;; off: limits: {table-elements: 120000, deadline: 20s}
(table $wide 100000 funcref)
