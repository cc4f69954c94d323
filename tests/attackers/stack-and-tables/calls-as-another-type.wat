;; tries: to call a function by a table as if it had other parameters
;; stopped by: checks of a call by table
;; reads: enumerate trapped: indirect call type mismatch at
;; wins: says @name has won
;; off: none, because the engine puts them into all code that it makes
(table $calls 1 funcref)
(type $other (func (param i64 i64 i64) (result i64)))
(elem (table $calls) (i32.const 0) func $small)
(func $small (param i32) (result i32) (local.get 0))
(enumerate
    (drop (call_indirect $calls (type $other) (i64.const 1) (i64.const 2) (i64.const -1) (i32.const 0)))
    (call $win)
    (call $one))
