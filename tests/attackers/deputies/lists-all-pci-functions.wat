;; tries: to get handles of all PCI functions
;; stopped by: grant of hardware
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: there are no others
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $devices @s("pci") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.load offset=8 (global.get $ret)) (then (call $win)) (else (call $say @s("there are no others"))))
    (call $one))
