;; tries: to wait in the host for a year
;; stopped by: waits are over at once
;; policy: wasi: [clocks]
;; policy: limits: {deadline: 20s}
;; asks: Allocate
;; reads: reached 1
;; wins: takes 15 s
;; off: none, because the host has no clock that waits
(allocate
    (call $block (call $after (i64.const 31536000000000000)))
    (call $reached (i32.const 1))
    (call $edits))
