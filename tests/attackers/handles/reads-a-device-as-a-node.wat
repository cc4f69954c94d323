;; tries: to ask a device for what only a node knows
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer, nodes: [{access: rw}]}]
;; reads: enumerate broke the contract: handle index 1 used with the wrong type
;; wins: says @name has won
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (call $node_path (call $own) (global.get $ret))
    (call $win)
    (call $one))
