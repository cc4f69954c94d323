;; tries: to have a terminal act by what it writes
;; stopped by: escape
;; reads: \u{1b}[31mred
;; wins: logs 5000 bytes
;; off: none, because the log is JSON, of which each line is one object
(enumerate (call $print (call $stderr) @s("\u{1b}[31mred\n") (global.get $ret)) (call $one))
