;; tries: to have one property more than a unit may
;; stopped by: answer
;; reads: a unit's properties has 33 entries; at most 32 are allowed
;; wins: offers @name
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("@name"))
    @for(i 0 33){(call $property @s("p@i") @s("1"))}
    (call $pools))
