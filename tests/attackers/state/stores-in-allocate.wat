;; tries: to keep something in `allocate`, beside a call that may keep something too
;; stopped by: moments of a state
;; policy: state: true
;; asks: Allocate
;; reads: stored in enumerate, health and release only, not in allocate
;; wins: says @name has won
;; off: unchecked
(allocate
    (call $store @s("kept") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $edits))
