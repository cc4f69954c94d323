;; tries: to set a variable by another case than the policy has it in
;; stopped by: gate: env
;; policy: containers: {env: {EDGES_CASE: any}}
;; asks: Allocate
;; reads: environment variable edges_case is not granted (containers.env)
;; wins: gives env edges_case=1
;; off: containers: {env: {edges_case: any}}
(allocate (call $env @s("edges_case") @s("1")) (call $edits))
