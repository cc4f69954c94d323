;; tries: to set a variable that picks a container's code
;; stopped by: gate: env
;; asks: Allocate
;; reads: LD_PRELOAD
;; wins: gives env LD_PRELOAD=/tmp/x.so
;; off: containers: {env: {LD_PRELOAD: [/tmp/x.so]}}
(allocate (call $env @s("LD_PRELOAD") @s("/tmp/x.so")) (call $edits))
