;; tries: to read the configuration of a device, which acts on hardware
;; stopped by: attributes that are never read
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: denied: is the device's configuration space, reading it acts on the device
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $attribute (call $own) @s("config") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
