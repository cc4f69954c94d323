;; tries: to have a terminal show one address and open another
;; stopped by: escaping
;; reads: \u{1b}]8;;https://evil.example\u{7}the manual
;; wins: says \u{1b}]8;;
;; off: unchecked
(enumerate (call $say @s("see \u{1b}]8;;https://evil.example\u{7}the manual\u{1b}]8;;\u{7}")) (call $one))
