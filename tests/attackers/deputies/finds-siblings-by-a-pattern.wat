;; tries: to have its siblings listed by a name that is a pattern
;; stopped by: grant of hardware
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: device bench1-* of bench1: not found
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $device_by_name @s("bench1") @s("bench1-*") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
