;; tries: to offer more units than a list may have
;; stopped by: answer
;; policy: limits: {transfer: 16MiB, memory: 32MiB, cpu: 5s, deadline: 20s}
;; reads: broke the contract: a pool's list of units has 16385 entries; at most 16384 are allowed
;; wins: offers @name
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate
    (call $pool @s("@resource"))
    (loop $again
        (call $unit @s("@name"))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 16385))))
    (call $pools))
