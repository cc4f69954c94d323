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
/// Its messages are those of v1, without what was added since, which its readers leave out.
const OLDER: &str = ".k8s.io.kubelet.pkg.apis.dra.v1beta1";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in FILES {
        println!("cargo::rerun-if-changed={PROTO}/{file}");
        // Maps are sorted, so that the same reply is the same bytes.
        let generator = tonic_prost_build::configure().btree_map(".").extern_path(OLDER, "crate::api::dra");
        generator.compile_fds(protox::compile([file], [PROTO])?)?;
    }
    Ok(())
}
