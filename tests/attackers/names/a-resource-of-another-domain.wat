;; tries: to offer a well-known vendor's resource
;; stopped by: gate: resources
;; reads: resource nvidia.com/gpu: the policy does not grant this name (resources)
;; wins: registers nvidia.com/gpu
;; off: resources: [@resource, nvidia.com/gpu]
(enumerate (call $pool @s("nvidia.com/gpu")) (call $unit @s("@name")) (call $pools))
