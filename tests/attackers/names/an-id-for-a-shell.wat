;; tries: to have a shell run an id
;; stopped by: gate: ids
;; reads: id $(reboot) of @resource: must start with a letter or digit
;; wins: offers $(reboot)
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("$(reboot)")) (call $pools))
