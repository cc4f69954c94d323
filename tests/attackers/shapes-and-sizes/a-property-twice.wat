;; tries: to have a property with two values
;; stopped by: answer
;; reads: enumerate broke the contract: a unit's properties: "a" appears twice
;; wins: offers @name
;; off: none, because that a name has one value is the contract's, and is held where an answer enters: no answer gets past that
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("@name"))
    (call $property @s("a") @s("1"))
    (call $property @s("a") @s("2"))
    (call $pools))
