;; tries: to recurse in its start function
;; stopped by: stack
;; policy: limits: {cpu: 5s, deadline: 20s}
;; reads: enumerate exceeded its 256KiB stack
;; wins: offers @name
;; off: as recurses
(func $deep (param i32) (result i32)
    (if (result i32) (local.get 0)
        (then (i32.add (local.get 0) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
        (else (i32.const 0))))
(func $first (drop (call $deep (i32.const 10000000))))
(start $first)
