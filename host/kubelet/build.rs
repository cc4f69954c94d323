//! Compiles the kubelet's API without `protoc`.

const PROTO: &str = "../../proto";
const FILES: [&str; 6] = [
    "deviceplugin/v1beta1/api.proto",
    "podresources/v1/api.proto",
    "pluginregistration/v1/api.proto",
    "dra/v1/api.proto",
    "dra/v1beta1/api.proto",
    "dra-health/v1alpha1/api.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in FILES {
        println!("cargo::rerun-if-changed={PROTO}/{file}");
        // Maps are sorted, so that the same reply is the same bytes.
        let generator = tonic_prost_build::configure().btree_map(".");
        generator.compile_fds(protox::compile([file], [PROTO])?)?;
    }
    Ok(())
}
