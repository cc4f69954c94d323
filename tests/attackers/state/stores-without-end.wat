;; tries: to wear out a disk, a byte at a time
;; stopped by: limits.host-calls
;; policy: state: true
;; policy: limits: {host-calls: 100, deadline: 20s}
;; reads: enumerate exceeded its 100 calls to the host (limits.host-calls)
;; wins: reaches 200
;; off: limits: {host-calls: 1400, cpu: 2s, deadline: 20s}
(enumerate
    (loop $again
        (call $store @s("1") (global.get $ret))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 400))))
    (call $one))
