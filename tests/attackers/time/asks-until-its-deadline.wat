;; tries: to let a pod wait for all of a deadline without computing anything: it only asks the host
;; stopped by: limits.deadline
;; policy: state: true
;; policy: limits: {cpu: 1s, deadline: 1s, host-calls: 10000000, transfer: 64MiB}
;; asks: Allocate
;; reads: allocate exceeded its 1.001s deadline (limits.deadline)
;; wins: takes 3 s
;; off: limits: {cpu: 8s, deadline: 8s, host-calls: 10000000, transfer: 64MiB}
(allocate
    (loop $again
        (call $load (global.get $ret))
        (br $again))
    (unreachable))
