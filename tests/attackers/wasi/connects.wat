;; tries: to reach the network
;; stopped by: imports
;; reads: wasi:sockets/tcp@0.2.6
;; wins: registers @resource
;; off: none, because the host has nothing to give for it
(component (import "wasi:sockets/tcp@0.2.6" (instance (export "connect" (func)))))
