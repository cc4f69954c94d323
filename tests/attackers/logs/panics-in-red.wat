;; tries: to act on a terminal by the last words of a panic, which stand in the host's own message
;; stopped by: escaping
;; reads: \u{1b}[31m\u{202e}all is well (wasm `unreachable` instruction executed at
;; wins: says \u{1b}[31m
;; off: as acts-on-a-terminal
(enumerate
    (call $print (call $stderr)
        @s("thread 'main' panicked at src/lib.rs:1:1:\n\u{1b}[31m\u{202e}all is well\n") (global.get $ret))
    (unreachable))
