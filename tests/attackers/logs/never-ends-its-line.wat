;; tries: to have the host keep a line of 4 MiB that does not end
;; stopped by: length of a line
;; policy: limits: {log: 1MiB, transfer: 64MiB, cpu: 5s, deadline: 20s}
;; reads: begins here xxxxxxxx
;; wins: says ends here
;; wins: logs 10240 bytes
;; off: as has-a-line-of-a-mebibyte
(enumerate
    (local.set $h (call $stdout))
    (call $print (local.get $h) @s("begins here ") (global.get $ret))
    (loop $again
        (call $print (local.get $h) @s("x" 4096) (global.get $ret))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1024))))
    (call $print (local.get $h) @s("ends here") (global.get $ret))
    (call $one))
