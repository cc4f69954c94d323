;; tries: as native code, to end without an answer as a program that is done
;; stopped by: a process for each plugin
;; reads: enumerate ended its process: it ended by itself (exit status: 0)
;; wins: says @name has won
;; off: none, because the host kills by its own clock, and code of a component never runs in the host's process
(native mov edi 0, mov eax 231, syscall, ud2)
(enumerate (call $room) (call $win) (call $one))
