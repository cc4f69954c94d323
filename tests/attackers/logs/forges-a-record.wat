;; tries: to write a record of the log that is not its own
;; stopped by: one JSON object a line
;; reads: \u0077on by @name
;; wins: says won by @name
;; off: none, because what writes the log makes JSON of all that it is given
(enumerate
    ;; Only what is read as JSON has a w there.
    (call $say @s("\"}\n{\"level\":\"ERROR\",\"plugin\":\"bench0\",\"message\":\"\\u0077on by @name\"}\n{\""))
    (call $one))
