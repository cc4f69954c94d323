;; tries: to ask the host from the last frame that its stack has room for, at every depth
;; stopped by: stack
;; policy: limits: {cpu: 10s, deadline: 20s, host-calls: 1000000, log: 1MiB, transfer: 64MiB}
;; reads: enumerate exceeded its 256KiB stack
;; wins: reaches 163840 calls
;; off: as recurses
(func $deep (param $n i32) (result i32)
    (call $config (global.get $ret))
    (call $reached (local.get $n))
    (i32.add (local.get $n) (call $deep (i32.add (local.get $n) (i32.const 1)))))
(enumerate (drop (call $deep (i32.const 0))) (call $one))
