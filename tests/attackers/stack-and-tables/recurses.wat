;; tries: to call itself without end
;; stopped by: stack
;; policy: limits: {cpu: 5s, deadline: 20s, host-calls: 10000000, log: 1MiB}
;; reads: enumerate exceeded its 256KiB stack
;; wins: reaches 163840 calls
;; off: none, because the size of the stack is a constant of the programs, of which a call takes 16 bytes at least
(func $deep (param i32) (result i32)
    (call $reached (local.get 0))
    (i32.add (local.get 0) (call $deep (i32.add (local.get 0) (i32.const 1)))))
(enumerate (drop (call $deep (i32.const 0))) (call $one))
