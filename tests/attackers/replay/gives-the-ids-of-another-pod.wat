;; tries: to answer a pod with the ids of the pod before
;; stopped by: gate: env
;; policy: containers: {env: {REPLAY_IDS: "{ids}"}}
;; asks: Allocate of @name-2
;; reads: but the policy expects "@name-2" (from "{ids}")
;; wins: gives env REPLAY_IDS=@name
;; off: containers: {env: {REPLAY_IDS: any}}
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $unit @s("@name-2")) (call $pools))
(allocate (call $env @s("REPLAY_IDS") @s("@name")) (call $edits))
