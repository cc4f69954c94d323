;; tries: to have the host look for the place of a trap in junk
;; stopped by: debugging is not read
;; reads: enumerate trapped: wasm `unreachable` instruction executed at
;; wins: says .debug_
;; off: none, because the programs do not link what would read it
(enumerate (unreachable))
(section ".debug_info" "\ff" 5000)
(section ".debug_line" "\ff" 5000)
(section ".debug_abbrev" "\ff" 5000)
