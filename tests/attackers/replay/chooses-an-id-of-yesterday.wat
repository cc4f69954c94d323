;; tries: to have a pod get an id that it does not list any more
;; stopped by: checks of a choice
;; asks: prefer 1 of @name, @name-2
;; reads: choose named yesterday, which is not available; the host chose instead
;; wins: gives chosen yesterday
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("@name")) (call $unit @s("@name-2")) (call $pools))
(choose (call $cdi @s("yesterday")) (call $chosen))
