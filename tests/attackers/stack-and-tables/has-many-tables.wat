;; tries: to have eight tables, each of them no larger than one may be
;; stopped by: limits.tables
;; reads: tables, more than 4 (limits.tables)
;; wins: offers @name
;; off: limits: {tables: 48, deadline: 20s}
(table $t0 9000 funcref)
(table $t1 9000 funcref)
(table $t2 9000 funcref)
(table $t3 9000 funcref)
(table $t4 9000 funcref)
(table $t5 9000 funcref)
(table $t6 9000 funcref)
(table $t7 9000 funcref)
