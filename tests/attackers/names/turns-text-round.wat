;; tries: to offer an id that reads from right to left
;; stopped by: gate: ids
;; reads: \u{202e}
;; wins: offers a\u{202e}b
;; off: none, because the rule is no limit; `ids_that_look_like_something_else_are_refused` has what it refuses beside what it lets pass
(enumerate (call $pool @s("@resource")) (call $unit @s("a\u{202e}b")) (call $pools))
