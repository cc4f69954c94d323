//! Compiles the messages without `protoc`, and makes the key of this build.

use std::hash::{DefaultHasher, Hash, Hasher};

const PROTO: &str = "../../proto";
const FILE: &str = "runner.proto";
/// What decides which machine code a build can run: the versions of all crates, and how the sandbox sets wasmtime up.
const DECIDES: [&str; 3] = [
    "../../Cargo.lock",
    "../sandbox/src/engine.rs",
    "../../proto/runner.proto",
];

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
