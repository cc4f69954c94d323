;; tries: to have its line read from right to left, and to hide a part of it
;; stopped by: escaping
;; reads: \u{202e}llew si lla
;; wins: says \u{202e}
;; off: unchecked
(health
    (call $say @s("\u{202e}llew si lla\u{202c} \u{200b}\u{feff}\u{e0041}"))
    (call $healthy (local.get $count)))
