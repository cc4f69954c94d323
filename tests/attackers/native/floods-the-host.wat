;; tries: as native code, to fill the host with bytes without end, on each descriptor that it has
;; stopped by: form of messages
;; policy: limits: {deadline: 2s}
;; reads: it says something that is not in the protocol: not a message
;; wins: logs 100000 bytes
;; off: none, because each side reads the other's bytes by their form, and there is no other way between them
(native mov ebx 0, hex 89 df, hex 48 8d 35 f2 ff ff ff, mov edx 64, mov eax 1, syscall, hex ff c3, hex 83 fb 0a, hex 72 e4, hex eb dd)
(enumerate (call $room) (call $win) (call $one))
