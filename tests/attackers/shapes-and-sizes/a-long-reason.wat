;; tries: to fill status and log with a reason of a MiB
;; stopped by: size of a text
;; policy: limits: {memory: 32MiB, cpu: 5s, transfer: 16MiB, deadline: 20s}
;; reads: device a-long-reason is unhealthy: yyyy
;; wins: logs 10000 bytes
;; off: none, because text that people read is cut where an answer enters, and no answer gets past that
(health (call $verdict (i32.const 1) @s("y" 1048576)) (call $verdicts))
