;; tries: to give a container a CDI device that is another vendor's
;; stopped by: gate: cdi
;; policy: containers: {cdi: {test.dev/deputy: "{ids}"}}
;; asks: Allocate
;; reads: CDI device "nvidia.com/gpu=all" is not granted (containers.cdi)
;; wins: gives cdi nvidia.com/gpu=all
;; off: containers: {cdi: {nvidia.com/gpu: [all]}}
(allocate (call $cdi @s("nvidia.com/gpu=all")) (call $edits))
