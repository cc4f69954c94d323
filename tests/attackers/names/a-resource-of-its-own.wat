;; tries: to offer a resource that the policy does not name
;; stopped by: gate: resources
;; reads: resource test.dev/mine: the policy does not grant this name (resources)
;; wins: registers test.dev/mine
;; off: resources: [@resource, test.dev/mine]
(enumerate (call $pool @s("test.dev/mine")) (call $unit @s("@name")) (call $pools))
