//! Compiles the plugin's side of the kubelet's API once more, with a message that the front end encodes itself: once per change of a
//! list and not once per stream.

const PROTO: &str = "../../proto";
const FILE: &str = "deviceplugin/v1beta1/api.proto";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={PROTO}/{FILE}");
    tonic_prost_build::configure()
        .btree_map(".")
        .build_client(false)
        .extern_path(".v1beta1", "::devgate_kubelet::api")
        .extern_path(
            ".v1beta1.ListAndWatchResponse",
            "crate::front_end::encoded_list::EncodedList",
        )
        .compile_fds(protox::compile([FILE], [PROTO])?)?;
    Ok(())
}
