;; tries: to offer processors
;; stopped by: gate: resources
;; reads: resource cpu: must be a vendor's domain and a name, such as vendor.com/gpu
;; wins: registers cpu
;; off: unchecked
(enumerate (call $pool @s("cpu")) (call $unit @s("@name")) (call $pools))
