;; tries: as native code that no check of the engine stops, to spin
;; stopped by: limits.deadline for native code
;; policy: limits: {deadline: 2s}
;; reads: enumerate exceeded its 2s deadline (limits.deadline)
;; wins: says @name has won
;; off: none, because the host kills by its own clock, and code of a component never runs in the host's process
(native loop)
(enumerate (call $room) (call $win) (call $one))
