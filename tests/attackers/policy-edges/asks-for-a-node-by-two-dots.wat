;; tries: to hand out the memory of the node, by `..` behind a path that it may ask for
;; stopped by: grant of nodes
;; policy: host-nodes: {exclusive: ["/dev/edges*", "/dev/edges/**"]}
;; reads: no entry of the policy's host-nodes matches it
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $node_at @s("/dev/edges/../mem") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
