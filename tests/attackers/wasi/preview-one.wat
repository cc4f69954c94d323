;; tries: to open a file as programs for WASI's first preview do
;; stopped by: imports
;; reads: wasi-snapshot-preview1  is not an interface
;; wins: registers @resource
;; off: none, because the host has nothing to give for it
(component (import "wasi-snapshot-preview1" (instance (export "path-open" (func)))))
