;; tries: to write to hardware, at its moment, what the policy does not name
;; stopped by: values of control
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; policy: control: [{attribute: reset, values: ["1"], moment: [prepare]}]
;; asks: Allocate
;; reads: the policy's control does not name that value
;; wins: says @name has won
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $backing (call $own)) (call $pools))
(prepare
    (call $control (call $own) @s("reset") @s("11") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $done))
