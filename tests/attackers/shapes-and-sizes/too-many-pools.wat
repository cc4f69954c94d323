;; tries: to offer more pools than a list may have
;; stopped by: answer
;; policy: limits: {transfer: 16MiB, memory: 32MiB, cpu: 5s, deadline: 20s}
;; reads: has 4097 entries; at most 4096 are allowed
;; wins: offers @name
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("@name"))
    (loop $again
        (call $pool @s("@resource"))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 4096))))
    (call $pools))
