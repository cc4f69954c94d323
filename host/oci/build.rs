//! Compiles the messages without `protoc`.

const PROTO: &str = "../../proto";
const FILE: &str = "pull.proto";
/// What has something secret in it, and is not shown.
const SECRET: [&str; 3] = ["devgate.pull.Access", "devgate.pull.Credentials", "devgate.pull.Password"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PROTO}/{FILE}");
    let mut config = prost_build::Config::new();
    config.skip_debug(SECRET);
    config.compile_fds(protox::compile([FILE], [PROTO])?)?;
    Ok(())
}
