;; tries: to have a pod get a unit of another plugin
;; stopped by: checks of a choice
;; asks: prefer 1 of @name, @name-2
;; reads: choose named @good, which is not available; the host chose instead
;; wins: gives chosen @good
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $unit @s("@name-2")) (call $pools))
(choose (call $cdi @s("@good")) (call $chosen))
