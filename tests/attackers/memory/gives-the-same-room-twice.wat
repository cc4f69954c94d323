;; tries: to have the host mix up what it passes, by one room for the name of a resource, a list of units and their ids
;; stopped by: memory is only its own
;; reads: reached 65536
;; wins: says host fault
;; off: none, because the host reads nothing back from what it passed in
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
(health
    (call $reached (local.get $units))
    ;; An id, if it is still the one that was passed last.
    (call $say (i32.load (local.get $units)) (i32.and (i32.load offset=4 (local.get $units)) (i32.const 63)))
    (call $healthy (local.get $count)))
