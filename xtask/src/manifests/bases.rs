//! Rendered profiles as bases of an admin's kustomization: a namespace, an image and a policy of his own, and a patch, in one that is all
//! that it was before.

use super::profiles::{PROFILES, Profile};
use super::{Programs, at, pod_rights, render};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// The namespace of the kustomization, which its node selector and its policy are called after.
const OWN: &str = "devgate-own";
const IMAGE: &str = "registry.example.com/mirror/devgate:own";

const POLICY: &str = "\
configMapGenerator:
  - name: devgate-policy
    namespace: devgate
    behavior: replace
    literals: [devgate-own.yaml=text]
    options: {disableNameSuffixHash: true}
";

/// What is wrong with what kubectl makes of kustomizations over a folder of rendered profiles, each beside the others.
pub(super) fn problems(programs: &Programs, rendered: &Path, work: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for profile in PROFILES {
        let base = rendered.join(profile.name);
        let before = render::kustomization(&programs.kubectl, &base)?;
        let own = work.join(profile.name);
        std::fs::create_dir_all(&own).with_context(|| format!("create {}", own.display()))?;
        let up = rendered.file_name().context("a folder without a name")?;
        let text = kustomization(profile, &format!("../../{}", up.to_string_lossy()));
        std::fs::write(own.join("kustomization.yaml"), text)?;
        let after = render::kustomization(&programs.kubectl, &own)?;
        problems.extend(
            complaints(&before, &after).into_iter().map(|wrong| format!("profile {} as a base: {wrong}", profile.name)),
        );
    }
    Ok(problems)
}

fn kustomization(profile: &Profile, folder: &str) -> String {
    let has_policy = profile.only.is_none() && profile.release == render::NAME;
    format!(
        "\
namespace: {OWN}
resources: [{folder}/{}]
images:
  - {{name: registry.example.com/devgate, newName: registry.example.com/mirror/devgate, newTag: own}}
patches:
  - target: {{kind: DaemonSet}}
    patch: |
      apiVersion: apps/v1
      kind: DaemonSet
      metadata: {{name: {}}}
      spec: {{template: {{spec: {{nodeSelector: {{{OWN}: \"yes\"}}}}}}}}
{}",
        profile.name,
        profile.release,
        if has_policy { POLICY } else { "" }
    )
}

/// What is not as the kustomization says, and what it changes besides.
fn complaints(before: &[Value], after: &[Value]) -> Vec<String> {
    let (was, is) = (pod_rights::of(before), pod_rights::of(after));
    let changed = was.symmetric_difference(&is);
    let mut found: Vec<String> = changed.map(|fact| format!("it changes \"{fact}\"")).collect();
    for document in after {
        let kind = at(document, "/kind").as_str().unwrap_or_default();
        let place = if kind == "Namespace" { "name" } else { "namespace" };
        if at(document, &format!("/metadata/{place}")) != OWN {
            found.push(format!("{kind}: it is not in the namespace"));
        }
        let pod = at(document, "/spec/template/spec");
        if kind == "DaemonSet" && at(pod, &format!("/nodeSelector/{OWN}")) != "yes" {
            found.push(format!("{kind}: the patch is missing"));
        }
        for list in ["/containers", "/initContainers"] {
            let containers = at(pod, list).as_array().into_iter().flatten();
            let others = containers.filter(|container| at(container, "/image") != IMAGE);
            found.extend(others.map(|container| format!("{kind}: the image is {}", at(container, "/image"))));
        }
        let policy = at(document, "/data").as_object();
        let is_other = policy.is_some_and(|files| !files.keys().eq(["devgate-own.yaml"]));
        if at(document, "/metadata/name") == "devgate-policy" && is_other {
            found.push(format!("{kind}: the policy is not replaced"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn documents(image: &str, namespace: &str, file: &str, label: &str) -> [Value; 2] {
        let pod = json!({"nodeSelector": {label: "yes"}, "containers": [{"name": "c", "image": image}]});
        [
            json!({"kind": "DaemonSet", "metadata": {"namespace": namespace}, "spec": {"template": {"spec": pod}}}),
            json!({"kind": "ConfigMap", "metadata": {"name": "devgate-policy", "namespace": namespace}, "data": {file: "x"}}),
        ]
    }

    #[test]
    fn what_a_kustomization_does_not_reach_is_found() {
        let before = documents("i", "devgate", "none.yaml", "os");
        let after = documents(IMAGE, OWN, "devgate-own.yaml", OWN);
        assert_eq!(complaints(&before, &after), [""; 0]);
        assert_eq!(
            complaints(&before, &before),
            [
                "DaemonSet: it is not in the namespace",
                "DaemonSet: the patch is missing",
                "DaemonSet: the image is \"i\"",
                "ConfigMap: it is not in the namespace",
                "ConfigMap: the policy is not replaced",
            ]
        );
        let mut more = after;
        more[0]["spec"]["template"]["spec"]["hostNetwork"] = json!(true);
        assert_eq!(complaints(&before, &more), ["it changes \"pod: hostNetwork=true\""]);
    }
}
