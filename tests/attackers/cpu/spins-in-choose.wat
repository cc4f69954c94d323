;; tries: to compute without end while the kubelet asks which unit a pod shall get
;; stopped by: limits.cpu
;; asks: prefer 1 of first, second
;; reads: choose exceeded its 100ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: as spins
(choose (loop $again (br $again)) (unreachable))
;; Of one unit nothing is asked.
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("first"))
    (call $unit @s("second"))
    (call $pools))
