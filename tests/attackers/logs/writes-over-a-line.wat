;; tries: to write over the beginning of its own line, where its name is
;; stopped by: escaping
;; reads: harmless\r  INFO plugin bench0: all devices are gone
;; wins: says \u{d}  INFO
;; off: unchecked
(enumerate (call $say @s("harmless\r  INFO plugin bench0: all devices are gone")) (call $one))
