;; tries: to give a mount by the handle of an earlier call, which asked for it
;; stopped by: handles of a call
;; policy: containers: {mounts: {tools: {source: /usr/share, target: /opt/tools, unchecked: true}}}
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 1
;; wins: gives answer
;; off: none, because a table of handles is made for each call
(health
    (call $mount @s("tools") (global.get $ret))
    (call $healthy (local.get $count)))
(allocate (call $mounted (i32.const 1)) (call $edits))
