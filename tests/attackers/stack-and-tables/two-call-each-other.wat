;; tries: to recurse without a function that calls itself
;; stopped by: stack
;; policy: limits: {cpu: 5s, deadline: 20s}
;; reads: enumerate exceeded its 256KiB stack
;; wins: says @name has won
;; off: as recurses
(func $even (param i32) (result i32)
    (if (result i32) (local.get 0) (then (call $odd (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 1))))
(func $odd (param i32) (result i32)
    (i32.xor (i32.const 0)
        (if (result i32) (local.get 0) (then (call $even (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 0)))))
(enumerate
    (drop (call $even (i32.const 10000000)))
    (call $win)
    (call $one))
