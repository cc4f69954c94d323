;; tries: to give a container a mount by a handle that it was never given
;; stopped by: handles of a call
;; asks: Allocate
;; reads: allocate broke the contract: unknown handle index 5
;; wins: gives answer
;; off: none, because a table of handles is made for each call, and a number is all that a component has of it
(allocate (call $mounted (i32.const 5)) (call $edits))
