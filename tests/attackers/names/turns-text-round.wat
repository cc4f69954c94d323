;; tries: to offer an id that reads from right to left
;; stopped by: gate: ids
;; reads: id a\u{202e}b of @resource: must consist of letters
;; wins: offers a\u{202e}b
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("a\u{202e}b")) (call $pools))
