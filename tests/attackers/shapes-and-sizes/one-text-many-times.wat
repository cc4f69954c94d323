;; tries: to give 300 variables of 4,096 bytes each, which are the same ones in its own memory
;; stopped by: limits.transfer
;; policy: limits: {transfer: 1MiB, memory: 32MiB, cpu: 5s, deadline: 20s}
;; asks: Allocate
;; reads: allocate exceeded its 1028KiB passed to and from the host (limits.transfer)
;; wins: gives answer
;; off: unchecked
(allocate
    @for(i 0 300){(call $env @s("A@i") @s("b" 4096))}
    (call $edits))
