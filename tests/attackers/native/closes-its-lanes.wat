;; tries: as native code, to have the host wait for a descriptor that it has closed
;; stopped by: a process for each plugin
;; policy: limits: {deadline: 2s}
;; reads: in the middle of enumerate, which is asked again: ended its process
;; wins: says @name has won
;; off: none, because the host kills by its own clock, and code of a component never runs in the host's process
(native mov ebx 0, hex 89 df, hex 48 8d 35 f2 ff ff ff, mov edx 64, mov eax 3, syscall, hex ff c3, hex 83 fb 0a, hex 72 e4, loop)
(enumerate (call $room) (call $win) (call $one))
