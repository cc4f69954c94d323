;; tries: to wait for the first of no events, which never comes
;; stopped by: no poll of nothing
;; policy: wasi: [clocks]
;; asks: Allocate
;; reads: allocate broke the contract: empty poll list
;; wins: takes 15 s
;; off: none, because the engine ends what polls nothing, and no wait is longer than none
(allocate
    (call $poll (i32.const 0) (i32.const 0) (global.get $ret))
    (call $win)
    (call $edits))
