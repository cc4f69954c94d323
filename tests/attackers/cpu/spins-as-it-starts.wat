;; tries: to compute in its start function, before any call of the contract
;; stopped by: limits.cpu
;; reads: enumerate exceeded its 100ms of processor time (limits.cpu)
;; wins: offers @name
;; off: as spins
(func $spin (local $n i32)
    (loop $again (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2000000000)))))
(start $spin)
