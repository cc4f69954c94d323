;; tries: to let one pod after the other wait for all that a call may take
;; stopped by: three breaks in a row
;; policy: limits: {cpu: 300ms, deadline: 20s}
;; asks: Allocate, 4 times
;; reads: calls keep failing, so it is given again after 2s, to be tried
;; wins: takes 10 s
;; off: none, because the host lets each unit rest
(allocate (loop $again (br $again)) (unreachable))
