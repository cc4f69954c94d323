;; tries: as native code in a runner, to take a descriptor of another process
;; stopped by: seccomp
;; reads: tried a system call
;; wins: says it crashed
;; off: none, because no program runs without it; `attacks_end_the_process_on_every_thread` has what is tried
(native mov eax 438, syscall, ud2)
(enumerate (call $room) (call $one))
