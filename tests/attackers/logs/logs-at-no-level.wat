;; tries: to log at a level that there is not
;; stopped by: checks of what is passed
;; reads: enumerate broke the contract: unexpected discriminant: 200
;; wins: says @name has won
;; off: as passes-what-is-no-text
(enumerate (call $log (i32.const 200) @s("@name has won")) (call $one))
