;; tries: to offer a resource that differs from another plugin's by a capital
;; stopped by: gate: resources
;; reads: resource test.dev/Bench0: the policy does not grant this name (resources)
;; wins: registers test.dev/Bench0
;; off: unchecked
(enumerate (call $pool @s("test.dev/Bench0")) (call $unit @s("@name")) (call $pools))
