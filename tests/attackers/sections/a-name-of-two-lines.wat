;; tries: to write a line of the log by the name of a function
;; stopped by: names are not read
;; reads: enumerate trapped: wasm `unreachable` instruction executed at
;; wins: says \u{1b}[31m
;; off: none, because the log is JSON, of which each line is one object
(func $"a\n\1b[31mlevel=error" (unreachable))
(enumerate (call $"a\n\1b[31mlevel=error") (call $one))
