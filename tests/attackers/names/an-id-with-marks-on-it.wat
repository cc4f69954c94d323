;; tries: to offer an id with three marks on one letter
;; stopped by: gate: ids
;; reads: id a\u{300}\u{301}\u{302} of @resource: must consist of letters, digits and -_.:+@!
;; wins: offers a\u{300}\u{301}\u{302}
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("a\u{300}\u{301}\u{302}")) (call $pools))
