;; tries: to have the host wait for a thousand events at once, each a year from now
;; stopped by: waits are over at once
;; policy: wasi: [clocks]
;; policy: limits: {handles: 4096, cpu: 5s, deadline: 20s}
;; asks: Allocate
;; reads: reached 1000
;; wins: takes 15 s
;; off: as waits-a-year
(allocate
    (loop $again
        (i32.store
            (i32.add (i32.const 65536) (i32.mul (local.get $n) (i32.const 4)))
            (call $after (i64.const 31536000000000000)))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))
    (call $poll (i32.const 65536) (i32.const 1000) (global.get $ret))
    ;; So many are there at once.
    (call $reached (i32.load offset=4 (global.get $ret)))
    (call $edits))
