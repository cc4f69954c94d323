;; tries: to fill status and log with a failure of 100,000 bytes
;; stopped by: size of a text
;; reads: enumerate failed: zzzz
;; wins: logs 10000 bytes
;; off: none, because text that people read is cut where an answer enters, and no answer gets past that
(enumerate (call $fail (i32.const 8) @s("z" 100000)))
