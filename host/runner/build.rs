//! Compiles the messages without `protoc`, and makes the key of this build.

use std::hash::{DefaultHasher, Hash, Hasher};

const PROTO: &str = "../../proto";
const FILE: &str = "runner.proto";
/// What decides which machine code a build can run, and which messages it knows: the versions of all crates, how the sandbox sets
/// wasmtime up, and what is said to the children.
const DECIDES: [&str; 4] =
    ["../../Cargo.lock", "../sandbox/src/engine.rs", "../../proto/runner.proto", "../../proto/pull.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PROTO}/{FILE}");
    prost_build::Config::new().compile_fds(protox::compile([FILE], [PROTO])?)?;
    let mut hasher = DefaultHasher::new();
    std::env::var("CARGO_PKG_VERSION")?.hash(&mut hasher);
    for file in DECIDES {
        println!("cargo::rerun-if-changed={file}");
        std::fs::read(file)?.hash(&mut hasher);
    }
    println!("cargo::rustc-env=DEVGATE_BUILD={:016x}", hasher.finish());
    Ok(())
}
