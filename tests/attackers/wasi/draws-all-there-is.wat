;; tries: to have 9,223,372,036,854,775,807 random bytes while a pod waits
;; stopped by: most random bytes
;; policy: wasi: [random]
;; asks: Allocate
;; reads: allocate broke the contract: requested len 9223372036854775807 exceeds limit 65536
;; wins: gives answer
;; wins: has 400 MiB
;; off: none, because how many bytes there may be at once is a constant
(allocate (call $random_bytes (i64.const 0x7fffffffffffffff) (global.get $ret)) (call $edits))
