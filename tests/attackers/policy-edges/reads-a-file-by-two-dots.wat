;; tries: to read a secret of the node by `..` behind a path that it may read
;; stopped by: grant of files
;; policy: files: [/usr/share/**]
;; reads: is not listed (files)
;; wins: says @name has won
;; off: unchecked
(enumerate
    (call $file_text @s("/usr/share/../../etc/shadow") (global.get $ret))
    (call $told (global.get $ret))
    (if (i32.eqz (i32.load8_u (global.get $ret))) (then (call $win)))
    (call $one))
