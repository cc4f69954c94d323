;; tries: to compute without end while a pod waits
;; stopped by: limits.cpu
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: limits: {cpu: 1200ms, deadline: 20s}
(allocate (loop $again (br $again)) (unreachable))
