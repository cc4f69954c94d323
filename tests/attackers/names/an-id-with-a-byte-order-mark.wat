;; tries: to offer an id with a mark that is not shown
;; stopped by: gate: ids
;; reads: id \u{feff}@good of
;; wins: offers \u{feff}@good
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("\u{feff}@good")) (call $pools))
