;; tries: to have a socket made elsewhere, by a name with a path
;; stopped by: gate: resources
;; reads: resource test.dev/../../x: must contain only one "/"
;; wins: registers test.dev/../../x
;; off: unchecked
(enumerate (call $pool @s("test.dev/../../x")) (call $unit @s("@name")) (call $pools))
