;; tries: to pass 2 MiB to the host in one argument
;; stopped by: limits.transfer
;; policy: hardware: [{subsystem: bench1, name: @device, use: read}]
;; reads: enumerate exceeded its 1028KiB passed to and from the host (limits.transfer)
;; wins: says an argument has 2097152 bytes
;; off: limits: {transfer: 16MiB, deadline: 20s}
(enumerate
    (call $attribute (call $own) (i32.const 0) (i32.const 2097152) (global.get $ret))
    (call $told (global.get $ret))
    (call $one))
