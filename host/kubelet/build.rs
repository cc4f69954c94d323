//! Compiles the kubelet's API without `protoc`.

use std::path::PathBuf;

const PROTO: &str = "../../proto";
const FILE: &str = "deviceplugin/v1beta1/api.proto";
const PODS: &str = "podresources/v1/api.proto";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PROTO}/{FILE}");
    println!("cargo::rerun-if-changed={PROTO}/{PODS}");
    tonic_prost_build::configure()
        .btree_map(".")
        .compile_fds(protox::compile([PODS], [PROTO])?)?;
    let files = protox::compile([FILE], [PROTO])?;
    // Maps are sorted, so that the same reply is the same bytes.
    tonic_prost_build::configure()
        .btree_map(".")
        .compile_fds(files.clone())?;
    // Once more the plugin's side alone, with a message that the front end encodes itself: once per change of a list
    // and not once per stream.
    let server = PathBuf::from(std::env::var("OUT_DIR")?).join("front_end");
    std::fs::create_dir_all(&server)?;
    tonic_prost_build::configure()
        .build_client(false)
        .out_dir(server)
        .extern_path(".v1beta1", "crate::api")
        .extern_path(
            ".v1beta1.ListAndWatchResponse",
            "crate::front_end::encoded_list::EncodedList",
        )
        .compile_fds(files)?;
    Ok(())
}
