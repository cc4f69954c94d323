;; tries: to have a template stand for two devices, by a property with a comma
;; stopped by: gate: template
;; policy: containers: {env: {EDGES_COMMA: "{property.a}"}}
;; asks: Allocate
;; reads: the policy expects a value for one device, but property "a" of "@name" is "one,two"
;; wins: gives env EDGES_COMMA=one,two
;; off: unchecked
(enumerate
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $property @s("a") @s("one,two"))
    (call $pools))
(allocate (call $env @s("EDGES_COMMA") @s("one,two")) (call $edits))
