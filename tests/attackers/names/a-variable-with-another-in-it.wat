;; tries: to set a second variable by a line in the first one's name
;; stopped by: gate: env
;; policy: containers: {env: {A: [b]}}
;; asks: Allocate
;; reads: environment variable A\nLD_PRELOAD is not granted (containers.env)
;; wins: gives env A\nLD_PRELOAD=b
;; off: unchecked
(allocate (call $env @s("A\nLD_PRELOAD") @s("b")) (call $edits))
