;; tries: to ask with a text that is a byte longer than one may be
;; stopped by: length of an argument
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; reads: an argument has 4097 bytes; at most 4096 are allowed
;; wins: says @name has won
;; off: none, because the length is the contract's, and is held where an argument enters
(enumerate
    (call $attribute (call $own) @s("x" 4097) (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.or (i32.eqz (i32.load8_u (global.get $ret)))
            (i32.ne (i32.load8_u offset=4 (global.get $ret)) (i32.const 5))) (then (call $win)))
    (call $one))
