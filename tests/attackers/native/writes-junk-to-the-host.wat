;; tries: as native code, to have the host read what is no message, on each descriptor that it has
;; stopped by: limits.deadline for native code
;; policy: limits: {deadline: 2s}
;; reads: enumerate exceeded its 2s deadline (limits.deadline)
;; wins: says @name has won
;; off: none, because the host kills by its own clock, and code of a component never runs in the host's process
(native mov ebx 0, hex 89 df, hex 48 8d 35 f2 ff ff ff, mov edx 64, mov eax 1, syscall, hex ff c3, hex 83 fb 0a, hex 72 e4, loop)
(enumerate (call $room) (call $win) (call $one))
