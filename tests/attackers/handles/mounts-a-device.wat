;; tries: to give a container a device as a mount
;; stopped by: handles of a call
;; policy: hardware: [{subsystem: bench1, name: @device, use: offer}]
;; asks: Allocate
;; reads: allocate broke the contract: handle index 1 used with the wrong type
;; wins: gives answer
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(allocate (call $mounted (call $own)) (call $edits))
