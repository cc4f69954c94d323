;; tries: to set where a container finds its programs
;; stopped by: gate: env
;; asks: Allocate
;; reads: environment variable PATH is not granted (containers.env)
;; wins: gives env PATH=/tmp
;; off: containers: {env: {PATH: [/tmp]}}
(allocate (call $env @s("PATH") @s("/tmp")) (call $edits))
