;; tries: to give a container more variables than a list may have
;; stopped by: answer
;; policy: limits: {transfer: 16MiB, memory: 32MiB, cpu: 5s, deadline: 20s}
;; asks: Allocate
;; reads: has 4097 entries; at most 4096 are allowed
;; wins: gives answer
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(allocate
    (loop $again
        (call $env @s("A") @s("b"))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 4097))))
    (call $edits))
