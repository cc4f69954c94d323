;; tries: to offer units as the resource of another plugin
;; stopped by: gate: resources
;; reads: resource test.dev/bench0: the policy does not grant this name (resources)
;; wins: offers @name
;; off: unchecked
(enumerate (call $pool @s("test.dev/bench0")) (call $unit @s("@name")) (call $pools))
