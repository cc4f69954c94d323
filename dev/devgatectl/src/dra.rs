//! `devgatectl dra classes`: what an admin puts into a cluster so that pods have a policy's devices by claims.

use crate::cli::ClassesArgs;
use devgate::{exit, output, policy};
use devgate_policy::{Dra, PluginPolicy, Policy};
use devgate_types::ResourceName;
use std::fmt::Write;

/// The longest name of an object.
const MAX_NAME: usize = 253;

/// Runs the command.
pub(crate) fn classes(args: &ClassesArgs) -> anyhow::Result<u8> {
    match of(&policy::read(&args.policy)?) {
        Some(text) => output::print(&text)?,
        None => return Err(exit::with_code(exit::FOUND, "no plugin of the policy has \"dra\"".to_owned())),
    }
    Ok(exit::OK)
}

/// The classes of a policy, as YAML; nothing where no plugin is given by claims.
fn of(policy: &Policy) -> Option<String> {
    let claimed = policy.plugins.values().filter_map(|plugin| Some((plugin, plugin.dra.as_ref()?)));
    let all: Vec<String> = claimed.flat_map(|(plugin, dra)| of_plugin(plugin, dra)).collect();
    (!all.is_empty()).then(|| all.join("---\n"))
}

fn of_plugin(plugin: &PluginPolicy, dra: &Dra) -> Vec<String> {
    let grants = plugin.resources.iter().map(ToString::to_string);
    grants
        .map(|grant| {
            ResourceName::try_new(&grant).map_or_else(|_| of_pattern(plugin, &grant), |name| class(dra, &name))
        })
        .collect()
}

/// Which there are a policy does not say.
fn of_pattern(plugin: &PluginPolicy, grant: &str) -> String {
    format!("# Plugin {} may offer {grant}: write a class like the others for each that there is.\n", plugin.name)
}

fn class(dra: &Dra, resource: &ResourceName) -> String {
    let driver = &dra.driver;
    let mut text = String::new();
    let _ = writeln!(text, "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: {}", name(resource));
    let _ = writeln!(text, "spec:\n  extendedResourceName: {resource}\n  selectors:\n    - cel:");
    // A device that lacks the attribute would be an error, which keeps pods from all devices.
    let _ = writeln!(
        text,
        "        expression: 'device.driver == \"{driver}\" && has(device.attributes[\"devgate.dev\"].resource) && \
         device.attributes[\"devgate.dev\"].resource == \"{resource}\"'"
    );
    text
}

/// `gpu.vendor.com` for `vendor.com/gpu`.
fn name(resource: &ResourceName) -> String {
    let (domain, name) = resource.as_str().split_once('/').unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).collect();
    format!("{name}.{domain}").chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use devgate_policy::{PolicyFile, parse};

    fn policy(dra: &str) -> Policy {
        let text = format!(
            "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n  gpus:\n    component: {{file: a.wasm}}\n    resources: [vendor.com/GPU_a, \"vendor.com/mig-*\"]\n{dra}"
        );
        parse(&[PolicyFile { name: "policy.yaml", text: &text }]).unwrap()
    }

    #[test]
    fn each_resource_has_a_class_and_a_pattern_a_word() {
        insta::assert_snapshot!(of(&policy("    dra: {driver: gpu.vendor.com}\n")).unwrap(), @r#"
        apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata:
          name: gpu-a.vendor.com
        spec:
          extendedResourceName: vendor.com/GPU_a
          selectors:
            - cel:
                expression: 'device.driver == "gpu.vendor.com" && has(device.attributes["devgate.dev"].resource) && device.attributes["devgate.dev"].resource == "vendor.com/GPU_a"'
        ---
        # Plugin gpus may offer vendor.com/mig-*: write a class like the others for each that there is.
        "#);
        assert_eq!(of(&policy("")), None);
    }
}
