;; tries: to keep something in `prepare`
;; stopped by: moments of a state
;; policy: state: true
;; asks: Allocate
;; reads: stored in enumerate, health and release only, not in prepare
;; wins: says @name has won
;; off: unchecked
(prepare
    (call $store @s("kept") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $done))
