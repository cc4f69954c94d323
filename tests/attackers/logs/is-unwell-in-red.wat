;; tries: to act on a terminal by why its unit is unhealthy, which the status shows
;; stopped by: escaping
;; reads: \u{1b}[31mhot\u{7}
;; wins: says \u{1b}[31m
;; off: unchecked
(health (call $verdict (i32.const 1) @s("\u{1b}[31mhot\u{7}")) (call $verdicts))
