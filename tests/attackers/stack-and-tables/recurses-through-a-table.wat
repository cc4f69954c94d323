;; tries: to recurse through a table, so that no code says who calls whom
;; stopped by: stack
;; policy: limits: {cpu: 5s, deadline: 20s}
;; asks: Allocate
;; reads: allocate exceeded its 256KiB stack
;; wins: says @name has won
;; off: as recurses
(table $calls 1 funcref)
(type $deeper (func (param i32) (result i32)))
(elem (table $calls) (i32.const 0) func $deep)
(func $deep (param i32) (result i32)
    (if (result i32) (local.get 0)
        (then
            (i32.add
                (local.get 0)
                (call_indirect $calls (type $deeper) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))))
        (else (i32.const 0))))
(allocate (drop (call $deep (i32.const 10000000))) (call $win) (call $edits))
