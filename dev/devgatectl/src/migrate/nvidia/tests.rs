use super::super::{find, nvidias};
use super::*;
use devgate_policy::{PluginPolicy, PolicyFile};

/// The plugin that becomes of a configuration, its text, and what is not carried over.
fn migrated(text: &str) -> (PluginPolicy, String, String) {
    let mut draft = Draft::default();
    for (found, given) in nvidias(&find::in_file("f", text, &mut draft).unwrap()) {
        take_over(&found, &given, &mut draft);
    }
    let policy = draft.policy();
    let parsed = devgate_policy::parse(&[PolicyFile { name: "policy", text: &policy }]);
    let parsed = parsed.unwrap_or_else(|errors| panic!("{errors}\n{policy}"));
    (parsed.plugins.into_values().next().unwrap(), policy, draft.lost())
}

fn resources(plugin: &PluginPolicy) -> Vec<String> {
    plugin.resources.iter().map(ToString::to_string).collect()
}

#[test]
fn shared_gpus_are_replicas_under_the_shared_name() {
    let (plugin, text, lost) = migrated(
        "version: v1\nflags:\n  migStrategy: none\n  failOnInitError: true\n  nvidiaDriverRoot: /\n  plugin:\n    \
         passDeviceSpecs: false\n    deviceListStrategy: envvar\n    deviceIDStrategy: uuid\nsharing:\n  timeSlicing:\n    \
         renameByDefault: true\n    failRequestsGreaterThanOne: false\n    resources:\n    - {name: nvidia.com/gpu, replicas: 10}\n",
    );
    assert_eq!((lost.as_str(), plugin.replicas), ("", 10));
    assert_eq!(resources(&plugin), ["nvidia.com/gpu.shared"]);
    assert!(text.contains("env: {NVIDIA_VISIBLE_DEVICES: \"{property.uuid}\"}\n    health:"), "{text}");
    assert!(text.contains("rename: [{resource: nvidia.com/gpu, to: nvidia.com/gpu.shared}]\n"), "{text}");
}

#[test]
fn gpus_by_cdi_are_asked_of_the_runtime_by_name() {
    let (plugin, text, lost) = migrated(
        "version: v1\nflags:\n  plugin: {deviceListStrategy: [cdi-cri, volume-mounts], sharedDevicesAllocationPolicy: packed}\n",
    );
    assert_eq!(resources(&plugin), ["nvidia.com/gpu"]);
    assert!(
        text.contains("env: {NVIDIA_VISIBLE_DEVICES: void}\n      cdi: {nvidia.com/gpu: \"{property.uuid}\"}\n"),
        "{text}"
    );
    assert!(text.contains("    placement: packed\n"), "{text}");
    assert!(lost.starts_with("f: flags: plugin: deviceListStrategy volume-mounts: containers get GPUs by"), "{lost}");
}

#[test]
fn instances_are_gpus_or_have_a_name_of_their_own() {
    let (plugin, text, lost) = migrated("version: v1\nflags: {migStrategy: single}\n");
    assert_eq!((resources(&plugin), lost.as_str()), (vec!["nvidia.com/gpu".to_owned()], ""));
    assert!(text.contains("      mig: nvidia.com/gpu\n") && text.contains("    partitions:\n"), "{text}");
    assert!(!text.contains("labels:") && !text.contains("nvidia-vfio"), "{text}");
    let (plugin, text, lost) = migrated(
        "flags: {migStrategy: mixed}\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: mig-1g.5gb, replicas: 2}]}}\n",
    );
    assert_eq!(
        (resources(&plugin), plugin.replicas),
        (vec!["nvidia.com/gpu".to_owned(), "nvidia.com/mig".to_owned()], 1)
    );
    assert!(text.contains("      mig: nvidia.com/mig\n"), "{text}");
    insta::assert_snapshot!(lost, @r"
    f: flags: migStrategy mixed: which profile an instance has is not known without NVML: instances are nvidia.com/mig; name them by `rename`, as guests/nvidia-gpu/README.md shows
    f: sharing: timeSlicing: resources[0]: nvidia.com/gpu: `replicas` would share instances as well; `replicas` of a second plugin with `only` does it
    f: sharing: timeSlicing: resources[1]: nvidia.com/mig-1g.5gb: instances have no resource of their own by profile; `replicas` of a second plugin with `only` does it
    ");
}

#[test]
fn what_is_not_carried_over_is_named() {
    let (plugin, _, lost) = migrated(
        "version: v1\nflags:\n  gdrcopyEnabled: true\n  gdsEnabled: false\n  nvidiaDevRoot: /run/nvidia/driver\n  plugin:\n    \
         deviceIDStrategy: index\nresources:\n  gpus: [{pattern: \"*\", name: gpu}]\nimex: {channelIDs: [0]}\nsharing:\n  \
         timeSlicing:\n    failRequestsGreaterThanOne: true\n    resources:\n    - {name: nvidia.com/gpu, replicas: 4, \
         rename: x, devices: [0]}\n",
    );
    assert_eq!(plugin.replicas, 4);
    insta::assert_snapshot!(lost, @r#"
    f: resources: their plugin ignores it, too; `rename` by `property: {model: …}` does it
    f: imex: channelIDs: IMEX channels are not offered
    f: flags: gdrcopyEnabled: its nodes can be offered by a plugin with generic and `host-nodes`
    f: flags: nvidiaDevRoot: "/run/nvidia/driver": nodes are those in /dev
    f: flags: plugin: deviceIDStrategy: "index": ids are UUIDs, as an index is another GPU's when one fails to come up
    f: sharing: timeSlicing: failRequestsGreaterThanOne: a request for two gets two GPUs as long as there are two
    f: sharing: timeSlicing: resources[0]: devices: their plugin ignores it, too; `only` of a second plugin does it
    f: sharing: timeSlicing: resources[0]: rename: their plugin ignores it, too; `rename` of the policy does it
    "#);
    let (plugin, _, lost) = migrated("sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n");
    assert_eq!((plugin.replicas, lost.lines().count()), (1, 1));
    assert!(lost.starts_with("f: sharing: mps: it needs NVIDIA's daemon"), "{lost}");
}

#[test]
fn a_key_without_a_value_is_none() {
    let (plugin, _, lost) =
        migrated("version: v1\nflags:\n  migStrategy:\n  plugin:\nsharing:\n  timeSlicing:\n  mps:\n");
    assert_eq!((resources(&plugin), lost.as_str()), (vec!["nvidia.com/gpu".to_owned()], ""));
}

#[test]
fn a_configuration_of_another_shape_is_told() {
    let mut draft = Draft::default();
    for found in find::in_file("f", "flags: {migStrategy: 7}\n", &mut draft).unwrap() {
        take_over(&found, &[], &mut draft);
    }
    assert!(draft.is_empty() && draft.lost().starts_with("f: invalid type: "), "{}", draft.lost());
}

#[test]
fn variables_flags_and_values_of_a_chart_say_the_same_as_the_file() {
    for text in [
        "env:\n- {name: MIG_STRATEGY, value: single}\n- {name: FAIL_ON_INIT_ERROR, value: \"false\"}\n- {name: NODE, valueFrom: {}}\n",
        "args: [--mig-strategy=single, --fail-on-init-error=false, --pass-device-specs]\n",
        "migStrategy: single\nfailOnInitError: \"true\"\ndeviceIDStrategy: uuid\nresources: {limits: {cpu: 1}}\n",
        "mig: {strategy: single}\ndevicePlugin: {enabled: true, env: [{name: PASS_DEVICE_SPECS, value: \"true\"}]}\n",
        "spec: {mig: {strategy: single}, toolkit: {}}\n",
    ] {
        let (plugin, policy, lost) = migrated(text);
        assert_eq!((resources(&plugin), lost.as_str()), (vec!["nvidia.com/gpu".to_owned()], ""), "{text}");
        assert!(policy.contains("      mig: nvidia.com/gpu\n"), "{text}: {policy}");
    }
    let none = find::in_file(
        "f",
        "failSafe: true\nenv: [{name: GDS_ENABLED, value: x}]\nmig: {strategy: single}\n\
                c: [{name: gpu-feature-discovery, env: [{name: MIG_STRATEGY, value: none}]}]\n",
        &mut Draft::default(),
    );
    assert_eq!(none.unwrap(), []);
}

#[test]
fn what_is_told_besides_counts_more_than_the_file() {
    let (plugin, policy, lost) = migrated(
        "migStrategy: none\ndeviceListStrategy: cdi-cri\ndeviceIDStrategy: index\nconfig:\n  map:\n    default: |-\n      version: v1\n      \
         flags: {migStrategy: single}\n      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n\
         env: [{name: DP_DISABLE_HEALTHCHECKS, value: \"43\"}, {name: IMEX_CHANNEL_IDS, value: \"0\"}]\n",
    );
    assert_eq!(plugin.replicas, 4);
    assert!(
        policy.contains("      cdi: {nvidia.com/gpu: \"{property.uuid}\"}\n") && !policy.contains("mig:"),
        "{policy}"
    );
    insta::assert_snapshot!(lost, @r#"
    f: config: map: default: flags: DP_DISABLE_HEALTHCHECKS: "43": code by code, as `config: {xid: {"109": ignore}}`
    f: config: map: default: flags: IMEX_CHANNEL_IDS: IMEX channels are not offered
    f: config: map: default: flags: plugin: deviceIDStrategy: "index": ids are UUIDs, as an index is another GPU's when one fails to come up
    "#);
}
