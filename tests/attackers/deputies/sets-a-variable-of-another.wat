;; tries: to set the variable by which another plugin's devices are chosen
;; stopped by: gate: env
;; asks: Allocate
;; reads: environment variable NVIDIA_VISIBLE_DEVICES is not granted (containers.env)
;; wins: gives env NVIDIA_VISIBLE_DEVICES=all
;; off: containers: {env: {NVIDIA_VISIBLE_DEVICES: [all]}}
(allocate (call $env @s("NVIDIA_VISIBLE_DEVICES") @s("all")) (call $edits))
