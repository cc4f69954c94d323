;; tries: to use in `allocate` a node that `enumerate` had
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 2
;; wins: says @name has won
;; off: none, because a table of handles is made for each call
(enumerate
    (call $nodes (call $own) (global.get $ret))
    (call $one))
(allocate
    (call $node_path (i32.const 2) (global.get $ret))
    (call $win)
    (call $edits))
