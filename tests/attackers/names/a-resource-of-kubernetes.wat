;; tries: to offer a resource of Kubernetes itself
;; stopped by: gate: resources
;; reads: resource kubernetes.io/cpu: must not be in kubernetes.io, which is Kubernetes' own
;; wins: registers kubernetes.io/cpu
;; off: unchecked
(enumerate (call $pool @s("kubernetes.io/cpu")) (call $unit @s("@name")) (call $pools))
