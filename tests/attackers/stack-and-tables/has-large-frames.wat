;; tries: to step over the end of the stack, where a guard page is, by frames of 8 KiB
;; stopped by: stack
;; policy: limits: {cpu: 5s, deadline: 20s}
;; reads: enumerate exceeded its 256KiB stack
;; wins: reaches 64 calls
;; off: none, because 64 frames of 8 KiB are twice the stack, whose size is a constant of the programs
(func $wide (param $n i32) (result i64)
    @for(i 0 1000){(local $l@i i64)
    }
    (call $reached (local.get $n))
    @for(i 0 1000){(local.set $l@i (i64.load (i32.add (local.get $n) (i32.const @i))))
    }
    (i64.store (i32.const 1024) (call $wide (i32.add (local.get $n) (i32.const 1))))
    @for(i 0 1000){(i64.store (i32.const 1024) (i64.mul (i64.load (i32.const 1024)) (local.get $l@i)))
    }
    (i64.load (i32.const 1024)))
(enumerate (drop (call $wide (i32.const 0))) (call $one))
