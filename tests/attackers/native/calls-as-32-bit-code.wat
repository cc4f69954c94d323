;; tries: as native code in a runner, to call by the numbers of 32-bit programs
;; stopped by: seccomp
;; reads: tried a system call
;; wins: says it crashed
;; off: none, because no program runs without it; `attacks_end_the_process_on_every_thread` has what is tried
(native mov eax 20, int80, ud2)
(enumerate (call $room) (call $one))
