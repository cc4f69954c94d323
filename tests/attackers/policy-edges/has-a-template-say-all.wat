;; tries: to have a template stand for all devices, by a property that reads `all`
;; stopped by: gate: template
;; policy: containers: {env: {EDGES_ALL: "{property.a}"}}
;; asks: Allocate
;; reads: the policy expects a value for one device, but property "a" of "@name" is "all"
;; wins: gives env EDGES_ALL=all
;; off: unchecked
(enumerate
    (call $pool @s("@resource")) (call $unit @s("@name"))
    (call $property @s("a") @s("all"))
    (call $pools))
(allocate (call $env @s("EDGES_ALL") @s("all")) (call $edits))
