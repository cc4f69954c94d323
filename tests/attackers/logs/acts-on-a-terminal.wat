;; tries: to clear the admin's screen, and to write its own on it
;; stopped by: escaping
;; reads: \u{1b}[2J\u{1b}[1;1H\u{1b}[31mall is well
;; wins: says \u{1b}[2J
;; off: unchecked
(enumerate (call $say @s("\u{1b}[2J\u{1b}[1;1H\u{1b}[31mall is well")) (call $one))
