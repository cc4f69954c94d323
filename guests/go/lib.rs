//! Nothing: this folder has the contract as Go, and `tests/bindings.rs` writes and checks what of it is generated.
#![forbid(unsafe_code)]
