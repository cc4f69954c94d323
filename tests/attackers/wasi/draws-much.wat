;; tries: to have 65,537 random bytes in one call
;; stopped by: most random bytes
;; policy: wasi: [random]
;; reads: enumerate broke the contract: requested len 65537 exceeds limit 65536
;; wins: says @name has won
;; off: none, because how many bytes there may be at once is a constant
(enumerate (call $random_bytes (i64.const 65537) (global.get $ret)) (call $win) (call $one))
