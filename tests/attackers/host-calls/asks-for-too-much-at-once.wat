;; tries: to ask for a hundred thousand attributes in one call to the host, which counts once
;; stopped by: length of an argument
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; policy: limits: {transfer: 64MiB, cpu: 5s, deadline: 20s}
;; reads: enumerate broke the contract: attributes: 100000 paths; at most 4096 are allowed
;; wins: says @name has won
;; off: as passes-one-byte-too-many
(enumerate
    (local.set $h (call $own))
    (local.set $at (i32.mul (memory.size) (i32.const 65536)))
    ;; Zeros are texts of no bytes.
    (drop (memory.grow (i32.const 16)))
    (call $attributes (local.get $h) (local.get $at) (i32.const 100000) (global.get $ret))
    (call $win)
    (call $one))
