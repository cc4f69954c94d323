;; tries: as native code in a runner, to have memory that can be written to and run
;; stopped by: seccomp
;; reads: tried a system call
;; wins: says it crashed
;; off: none, because no program runs without it; `attacks_end_the_process_on_every_thread` has what is tried
(native mov edi 0, mov esi 4096, mov edx 7, mov r10d 0x22, mov r8 -1, mov r9d 0, mov eax 9, syscall, ud2)
(enumerate (call $room) (call $one))
