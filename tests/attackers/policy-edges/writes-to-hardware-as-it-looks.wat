;; tries: to write to hardware in `enumerate`, when other pods may use it
;; stopped by: moments of control
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; policy: control: [{attribute: reset, values: ["1"], moment: [prepare]}]
;; reads: attributes are written in prepare and release only, not in enumerate
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $control (call $own) @s("reset") @s("1") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
(prepare (call $done))
