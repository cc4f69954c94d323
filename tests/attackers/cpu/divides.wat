;; tries: to divide and take roots without end, which are the slowest instructions
;; stopped by: limits.cpu
;; asks: Allocate
;; reads: allocate exceeded its 100.5ms of processor time (limits.cpu)
;; wins: takes 1 s
;; off: as spins
(allocate
    (loop $again
        (local.set $long (i64.div_u (i64.const -1) (i64.or (local.get $long) (i64.const 3))))
        (local.set $long (i64.rem_s (i64.const 0x7fffffffffffffff) (i64.or (local.get $long) (i64.const 5))))
        @for(i 0 20){(local.set $long
            (i64.trunc_sat_f64_u (f64.sqrt (f64.div (f64.const 1e300) (f64.convert_i64_u (local.get $long))))))}
        (br $again))
    (unreachable))
