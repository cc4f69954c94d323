;; tries: to get a handle of a device that only another plugin is granted
;; stopped by: grant of hardware
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: device @good of bench0: not found
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $device_by_name @s("bench0") @s("@good") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
