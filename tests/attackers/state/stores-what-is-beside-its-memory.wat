;; tries: to keep, and read later, what is behind its memory
;; stopped by: canonical ABI
;; policy: state: true
;; reads: enumerate broke the contract: list pointer/length out of bounds of memory
;; wins: says @name has won
;; off: none, because the engine reads each argument by its type, and there is no other way in
(enumerate
    (call $store (i32.const 0xfffffff0) (i32.const 8) (global.get $ret))
    (call $win)
    (call $one))
