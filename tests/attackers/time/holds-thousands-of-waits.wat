;; tries: to have the host keep waits by the thousand
;; stopped by: limits.handles
;; policy: wasi: [clocks]
;; reads: enumerate exceeded its 1024 handles (limits.handles)
;; wins: reaches 4000 waits
;; off: wasi: [clocks]
;; off: limits: {handles: 12400, deadline: 20s}
(enumerate
    (loop $again
        (drop (call $after (i64.const 1000000000)))
        (call $reached (local.tee $n (i32.add (local.get $n) (i32.const 1))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 5000))))
    (call $one))
