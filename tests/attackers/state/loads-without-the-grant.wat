;; tries: to read what a former plugin of its name kept, though the policy has no word of it
;; stopped by: grant of state
;; reads: devgate:plugin/state@0.1.0  needs "state:" in the policy
;; wins: offers @name
;; off: state: true
(enumerate (call $load (global.get $ret)) (call $one))
