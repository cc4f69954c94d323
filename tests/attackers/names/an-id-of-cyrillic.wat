;; tries: to offer an id with letters that look like Latin ones
;; stopped by: gate: ids
;; reads: of @resource: must consist of letters, digits and -_.:+@!
;; wins: offers b\u{435}nch0-0
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("b\u{435}nch0-0")) (call $pools))
