;; A good component that does a bit of everything, so that its process can be ended in the middle of it: it asks much, writes to hardware,
;; keeps a state and gives long answers.
(func $look
    (local $n i32) (local $h i32)
    (local.set $h (call $own))
    (loop $again
        (call $attribute (local.get $h) @s("reset") (global.get $ret))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 50)))))
(func $reset
    (call $control (call $own) @s("reset") @s("1") (global.get $ret))
    (call $told (global.get $ret)))
(enumerate
    (call $look)
    (call $store @s("enumerated") (global.get $ret))
    (call $pool @s("@resource")) (call $unit @s("@name")) (call $backing (call $own)) (call $pools))
(health (call $look) (call $store @s("looked") (global.get $ret)) (call $healthy (local.get $count)))
(allocate (call $look) @for(i 0 64){ (call $env @s("LONG_@i") @s("value " 600)) } (call $edits))
(prepare (call $say @s("it is prepared")) (call $reset) (call $look) (call $done))
(release (call $say @s("it is released")) (call $reset) (call $store @s("released") (global.get $ret)) (call $done))
