;; tries: to keep something in `choose`
;; stopped by: moments of a state
;; policy: state: true
;; asks: prefer 1 of @name, @name-2
;; reads: stored in enumerate, health and release only, not in choose
;; wins: says @name has won
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $unit @s("@name-2")) (call $pools))
(choose
    (call $store @s("kept") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $cdi @s("@name-2"))
    (call $chosen))
