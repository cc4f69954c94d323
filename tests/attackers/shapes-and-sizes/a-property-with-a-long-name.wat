;; tries: to have a property whose name has 129 bytes
;; stopped by: answer
;; reads: a property's name has 129 bytes; at most 128 are allowed
;; wins: offers @name
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate
    (call $pool @s("@resource"))
    (call $unit @s("@name"))
    (call $property @s("p" 129) @s("1"))
    (call $pools))
