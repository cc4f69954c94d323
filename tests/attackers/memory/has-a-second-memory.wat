;; tries: to have its memory twice, the second in a module beside its own
;; stopped by: limits.memories
;; reads: component has 2 memories, more than 1 (limits.memories)
;; wins: offers @name
;; off: limits: {memories: 2, deadline: 20s}
(inner (core module $m (memory 16)) (core instance (instantiate $m)))
