;; tries: to offer an id that looks like the good plugin's
;; stopped by: gate: ids
;; reads: id bench0\u{200b}-0 of
;; wins: offers bench0\u{200b}-0
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("bench0\u{200b}-0")) (call $pools))
