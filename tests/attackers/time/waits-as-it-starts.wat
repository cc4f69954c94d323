;; tries: to wait for a year in its start function, at the host's own start
;; stopped by: waits are over at once
;; policy: wasi: [clocks]
;; reads: reached 1
;; wins: says reached 31536000
;; off: as waits-a-year
(global $waited (mut i64) (i64.const 0))
(func $wait
    (global.set $waited (call $now))
    (call $block (call $after (i64.const 31536000000000000)))
    (global.set $waited (i64.sub (call $now) (global.get $waited))))
(start $wait)
(enumerate
    ;; In seconds, and one more.
    (call $reached (i32.add (i32.const 1) (i32.wrap_i64 (i64.div_u (global.get $waited) (i64.const 1000000000)))))
    (call $one))
