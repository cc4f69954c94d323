;; tries: to compute after its answer, in the function that the host calls to have its memory freed
;; stopped by: limits.cpu
;; reads: enumerate exceeded its 100ms of processor time (limits.cpu)
;; wins: offers @name
;; off: as spins
(func $freed (export "cabi_post_devgate:plugin/plugin@0.1.0#enumerate") (param i32)
    (local $n i32)
    (loop $again (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2000000000)))))
