;; tries: to find what another plugin of its node has kept
;; stopped by: a blob for each plugin
;; policy: state: true
;; reads: there is nothing of another
;; wins: says @name has won
;; off: none, because the file is the plugin's by its name, which no call has as an argument
(health
    (call $load (global.get $ret))
    (if (i32.load offset=8 (global.get $ret))
        (then (call $win))
        (else (call $say @s("there is nothing of another"))))
    (call $healthy (local.get $count)))
