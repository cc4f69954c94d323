;; tries: to give a container a CDI device whose name has two lines
;; stopped by: gate: cdi
;; asks: Allocate
;; reads: CDI device "test.dev/a=b\nc" is not a name such as vendor.com/class=name
;; wins: gives cdi test.dev/a=b\nc
;; off: unchecked
(allocate (call $cdi @s("test.dev/a=b\nc")) (call $edits))
