;; tries: to have an id with a NUL, that was kept as bytes and not as a text, taken for one that is known
;; stopped by: answer
;; policy: state: true
;; reads: enumerate broke the contract: a unit's id contains a NUL
;; wins: offers @name
;; off: none, because the lengths are the contract's, and are held where an answer enters: no answer gets past that
(enumerate
    (call $store @s("@name\00b") (global.get $ret))
    (call $load (global.get $ret))
    (call $pool @s("@resource"))
    (call $unit (i32.load offset=4 (global.get $ret)) (i32.load offset=8 (global.get $ret)))
    (call $pools))
