;; tries: to write a line of the log by the name of a function
;; stopped by: escape
;; reads: executed in a\n\u{1b}[31mlevel=error
;; wins: says \u{1b}[31m
;; off: none, because the log is JSON, of which each line is one object
(func $"a\n\1b[31mlevel=error" (unreachable))
(enumerate (call $"a\n\1b[31mlevel=error") (call $one))
