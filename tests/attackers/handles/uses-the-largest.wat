;; tries: to duplicate the handle 0xffffffff
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; reads: enumerate broke the contract: unknown handle index 4294967295
;; wins: says @name has won
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(enumerate
    (drop (call $duplicate (i32.const -1)))
    (call $win)
    (call $one))
