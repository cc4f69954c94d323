;; tries: as native code in a runner, to have shared memory, which no limit counts
;; stopped by: seccomp
;; reads: tried a system call
;; wins: says it crashed
;; off: none, because no program runs without it; `attacks_end_the_process_on_every_thread` has what is tried
(native mov edi 0, mov esi 1048576, mov edx 3, mov r10d 0x21, mov r8 -1, mov r9d 0, mov eax 9, syscall, ud2)
(enumerate (call $room) (call $one))
