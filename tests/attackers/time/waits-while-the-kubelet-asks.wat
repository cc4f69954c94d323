;; tries: to keep the kubelet waiting for a preference for a year
;; stopped by: waits are over at once
;; policy: wasi: [clocks]
;; asks: prefer 1 of first, second
;; reads: reached 1
;; wins: takes 15 s
;; off: as waits-a-year
(choose
    (call $block (call $after (i64.const 31536000000000000)))
    (call $reached (i32.const 1))
    (call $cdi @s("second"))
    (call $chosen))
;; Of one unit nothing is asked.
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("first"))
    (call $unit @s("second"))
    (call $pools))
