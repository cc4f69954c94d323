;; tries: to do nothing but look at the clock until a minute is over
;; stopped by: limits.cpu
;; policy: wasi: [clocks]
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 5 s
;; off: as spins
(allocate
    (local.set $long (i64.add (call $now) (i64.const 60000000000)))
    (loop $again (br_if $again (i64.lt_u (call $now) (local.get $long))))
    (call $edits))
