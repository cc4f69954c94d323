;; tries: to call itself without end
;; stopped by: stack
;; reads: enumerate exceeded its 256KiB stack
;; wins: says wasm trap
;; off: none, because the size of the stack is a constant of the programs; `the_stack` of host/sandbox has it obeyed and violated
(func $deep (param i32) (result i32)
    (i32.add (local.get 0) (call $deep (i32.add (local.get 0) (i32.const 1)))))
(enumerate (drop (call $deep (i32.const 0))) (call $one))
