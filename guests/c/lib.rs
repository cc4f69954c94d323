//! Nothing: `include/` has the contract as C, and `tests/bindings.rs` writes and checks what of it is generated.
#![forbid(unsafe_code)]
