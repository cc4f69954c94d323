;; tries: to give a container all devices of a kind where its rule is one for each unit
;; stopped by: gate: cdi
;; policy: containers: {cdi: {test.dev/edges: "{ids}"}}
;; asks: Allocate
;; reads: CDI device "test.dev/edges=all" is named, but the policy expects what "{ids}" makes of the allocated units
;; wins: gives cdi test.dev/edges=all
;; off: containers: {cdi: {test.dev/edges: [all]}}
(allocate (call $cdi @s("test.dev/edges=all")) (call $edits))
