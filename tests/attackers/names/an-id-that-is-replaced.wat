;; tries: to have its id stand for others where a text of the policy is filled in
;; stopped by: gate: ids
;; reads: id {ids} of @resource: must start with a letter or digit
;; wins: offers {ids}
;; off: unchecked
(enumerate (call $pool @s("@resource")) (call $unit @s("{ids}")) (call $pools))
