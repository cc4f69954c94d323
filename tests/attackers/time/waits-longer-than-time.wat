;; tries: to wait for 584 years, behind the end of what a clock of 64 bits counts
;; stopped by: waits are over at once
;; policy: wasi: [clocks]
;; asks: Allocate
;; reads: reached 1
;; wins: takes 15 s
;; off: as waits-a-year
(allocate
    (call $block (call $after (i64.const -1)))
    (call $reached (i32.const 1))
    (call $edits))
