;; tries: to write a line of the log by an id
;; stopped by: gate: ids
;; reads: id a\nlevel=error of @resource: must consist of letters, digits and -_.:+@!
;; wins: offers a\nlevel=error
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("a\nlevel=error")) (call $pools))
