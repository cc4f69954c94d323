;; tries: to set a variable that it may not, by a name with `=` in it
;; stopped by: gate: env
;; policy: containers: {env: {EDGES_TWO: any}}
;; asks: Allocate
;; reads: LD_PRELOAD is not granted (containers.env)
;; wins: gives env EDGES_TWO=1\nLD_PRELOAD=/tmp/x.so
;; off: unchecked
(allocate (call $env @s("EDGES_TWO=1\nLD_PRELOAD") @s("/tmp/x.so")) (call $edits))
