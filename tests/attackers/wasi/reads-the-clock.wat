;; tries: to learn the time
;; stopped by: grant of wasi
;; reads: wasi:clocks/wall-clock@0.2.6  needs "wasi:" in the policy
;; wins: reaches 1577836800 seconds
;; off: wasi: [clocks]
(enumerate
    (call $today (i32.const 128))
    (call $reached (i32.wrap_i64 (i64.load (i32.const 128))))
    (call $one))
