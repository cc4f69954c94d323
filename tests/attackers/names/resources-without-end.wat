;; tries: to offer 200 resources, of each of which a node says how many there are for as long as there is the node
;; stopped by: most resources of a plugin
;; policy: resources: ["test.dev/@name-*"]
;; reads: the plugin has offered 16 resources already, and the kubelet never forgets one
;; wins: registers test.dev/@name-199
;; off: unchecked
(enumerate @for(i 0 200){(call $pool @s("test.dev/@name-@i")) (call $unit @s("many-@i"))} (call $pools))
