;; tries: to be put in force with more memory than the policy lets it
;; stopped by: reload by trial
;; policy: limits: {memory: 8MiB, deadline: 20s}
;; asks: Allocate
;; asks: change
;; reads: component starts with 25MiB of memory, more than 8MiB (limits.memory)
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(memory $memory (export "memory") 400)
(enumerate (call $win) (call $one))
