;; tries: to mount what the policy does not name, by its path
;; stopped by: grant of mounts
;; policy: containers: {mounts: {edges: {source: /usr/share, target: /opt/edges, unchecked: true}}}
;; asks: Allocate
;; reads: no entry of the policy's containers.mounts has this name
;; wins: gives mount /usr/../etc
;; off: unchecked
(allocate
    (call $mount @s("/usr/../etc") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $mounted (i32.load offset=4 (global.get $ret)))))
    (call $edits))
