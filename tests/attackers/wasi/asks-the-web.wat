;; tries: to ask a server of the web
;; stopped by: imports
;; reads: wasi:http/outgoing-handler@0.2.6
;; wins: registers @resource
;; off: none, because the host has nothing to give for it
(component (import "wasi:http/outgoing-handler@0.2.6" (instance (export "handle" (func)))))
