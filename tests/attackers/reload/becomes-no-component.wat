;; tries: to end the host, or its own service, with a file that is no component
;; stopped by: reload by trial
;; asks: Allocate
;; asks: change
;; reads: component is not a WebAssembly component
;; wins: says @name has won
;; off: none, because there is no reload without a trial
(enumerate (call $one))
;; becomes
(raw "this is no component")
