;; tries: to set a variable whose name begins with one that it may set
;; stopped by: gate: env
;; policy: containers: {env: {EDGES: any}}
;; asks: Allocate
;; reads: environment variable EDGES_TOO is not granted (containers.env)
;; wins: gives env EDGES_TOO=1
;; off: containers: {env: {EDGES_TOO: any}}
(allocate (call $env @s("EDGES_TOO") @s("1")) (call $edits))
