;; tries: to give a container every CDI device of another vendor
;; stopped by: gate: cdi
;; asks: Allocate
;; reads: CDI device "nvidia.com/gpu=all" is not granted (containers.cdi)
;; wins: gives cdi nvidia.com/gpu=all
;; off: unchecked
(allocate (call $cdi @s("nvidia.com/gpu=all")) (call $edits))
