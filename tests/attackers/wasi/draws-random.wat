;; tries: to draw a random number
;; stopped by: grant of wasi
;; reads: wasi:random/random@0.2.6
;; wins: reaches 1
;; off: wasi: [random]
(enumerate (drop (call $random)) (call $reached (i32.const 1)) (call $one))
