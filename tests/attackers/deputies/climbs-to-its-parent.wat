;; tries: to get a handle of the PCI function above its device, which it is not granted
;; stopped by: grant of hardware
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: there is nothing above
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $parent (call $own) (global.get $ret))
    (if (i32.load8_u (global.get $ret)) (then (call $win)) (else (call $say @s("there is nothing above"))))
    (call $one))
