;; tries: to read an attribute of the function above its device by `..`
;; stopped by: paths of a device
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: invalid: path has a . or .. component
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $attribute (call $own) @s("../../vendor") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
