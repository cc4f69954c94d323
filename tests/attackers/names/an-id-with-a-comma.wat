;; tries: to break out of a list of ids
;; stopped by: gate: ids
;; reads: id a,@good of @resource: must consist of letters, digits and -_.:+@!
;; wins: offers a,@good
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("a,@good")) (call $pools))
