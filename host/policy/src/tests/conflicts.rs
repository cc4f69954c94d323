//! What no two plugins may both have.

use super::read;

/// Two plugins, `a` with `v.com/a` and `b` with `v.com/b`, and lines for each.
fn two(a: &str, b: &str) -> String {
    two_with("v.com/a", a, "v.com/b", b)
}

fn two_with(of_a: &str, a: &str, of_b: &str, b: &str) -> String {
    format!(
        "apiVersion: devgate.dev/v1alpha1
kind: Policy
plugins:
  a:
    component: {{file: a.wasm}}
    resources: [\"{of_a}\"]
    {a}
  b:
    component: {{file: b.wasm}}
    resources: [\"{of_b}\"]
    {b}
"
    )
}

fn errors(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn an_annotation_belongs_to_one_plugin() {
    let one = "containers: {annotations: {v.com/mode: any}}";
    read(&two(one, "containers: {annotations: {v.com/speed: any}, env: {MODE: any}}")).unwrap();
    insta::assert_snapshot!(errors(&two(one, one)), @r#"policy.yaml:11:32: plugin "b" may set the annotation "v.com/mode", as plugin "a" may (policy.yaml:7): a container with both would get one of the values in random order"#);
}

#[test]
fn a_target_belongs_to_one_mount() {
    let mount =
        |source: &str, more: &str| format!("containers: {{mounts: {{m: {{source: {source}, target: /opt/v{more}}}}}}}");
    let one = mount("/srv/v", "");
    read(&two(&one, &one)).unwrap();
    read(&two(&one, &one.replace("/opt/v", "/opt/w"))).unwrap();
    insta::assert_snapshot!(errors(&two(&one, &mount("/srv/w", ""))), @r#"policy.yaml:11:27: mount "m" of plugin "b" is at "/opt/v" in a container, as "m" of plugin "a" is (policy.yaml:7); two mounts share a target only if source and writable are the same"#);
    assert!(errors(&two(&one, &mount("/srv/v", ", writable: true"))).contains("share a target"));
    let both = "containers: {mounts: {m: {source: /srv/v, target: /opt/v}, n: {source: /srv/w, target: /opt/v}}}";
    assert!(errors(&two(both, "")).contains("\"n\" of plugin \"a\""));
}

#[test]
fn a_resource_belongs_to_one_plugin() {
    for (a, b, overlap) in [
        ("v.com/x", "v.com/x", true),
        ("v.com/x*", "v.com/x1", true),
        ("v.com/x1", "v.com/x*", true),
        ("v.com/x*", "v.com/*", true),
        ("v.com/x*", "v.com/*y", true),
        ("v.com/x*", "v.com/y*", false),
        ("v.com/*-x", "v.com/*-y", false),
        ("v.com/x*", "w.com/x*", false),
        ("v.com/x*", "v.com/y", false),
    ] {
        let read = read(&two_with(a, "", b, ""));
        assert_eq!(read.is_err(), overlap, "{a} {b}");
    }
    insta::assert_snapshot!(errors(&two_with("v.com/x*", "", "v.com/x1", "")), @r#"policy.yaml:8:3: plugin "b" offers "v.com/x1", as plugin "a" may with "v.com/x*" (policy.yaml:4); a resource belongs to one plugin"#);
    // One plugin may say the same twice over: the first entry counts.
    let both = two("", "").replace("[\"v.com/a\"]", "[\"v.com/a*\", v.com/a]");
    assert_eq!(read(&both).unwrap().plugins["a"].resources.len(), 2);
}

#[test]
fn a_variable_belongs_to_one_plugin_also_by_its_resources_name() {
    let env = "containers: {env: {\"{RESOURCE}_IDS\": any}}";
    read(&two(env, env)).unwrap();
    assert!(
        errors(&two(env, "containers: {env: {V_COM_A_IDS: any}}")).contains("plugin \"b\" may set \"V_COM_A_IDS\"")
    );
    // What a pattern will name is not known yet.
    read(&two_with("v.com/a*", env, "v.com/b", "containers: {env: {V_COM_A1_IDS: any}}")).unwrap();
}
