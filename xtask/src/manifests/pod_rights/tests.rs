//! Each thing that would give a pod more is a sentence of its own.

use super::*;
use serde_json::json;

/// A pod with little.
fn little() -> Value {
    json!({
        "kind": "DaemonSet",
        "metadata": {"name": "d"},
        "spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/default-container": "c"}}, "spec": {
            "automountServiceAccountToken": false,
            "nodeSelector": {"a": "b"},
            "containers": [{
                "name": "c",
                "image": "i",
                "args": ["run"],
                "env": [],
                "securityContext": {"capabilities": {"drop": ["ALL"]}},
                "livenessProbe": {"httpGet": {"path": "/x", "port": 1}, "periodSeconds": 2},
                "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true}],
            }],
            "volumes": [{"name": "v", "hostPath": {"path": "/h", "type": "Directory"}}],
        }}},
    })
}

fn facts(document: &Value) -> Vec<String> {
    of(std::slice::from_ref(document)).into_iter().collect()
}

#[test]
fn a_pod_in_sentences() {
    let expected = [
        "c: /v is the node's /h (Directory), read-only",
        "c: option run",
        "c: securityContext.capabilities.drop=ALL",
        "container c",
        "object DaemonSet",
        "pod: automountServiceAccountToken=false",
    ];
    assert_eq!(facts(&little()), expected);
}

/// Where in the pod something is put, what, and the one sentence that it adds.
#[test]
fn whatever_gives_more_is_one_more_sentence() {
    let pod = "/spec/template/spec";
    let container = "/spec/template/spec/containers/0";
    for (place, key, value, sentence) in [
        (pod, "hostNetwork", json!(true), "pod: hostNetwork=true"),
        (pod, "hostPID", json!(true), "pod: hostPID=true"),
        (pod, "hostIPC", json!(true), "pod: hostIPC=true"),
        (pod, "hostUsers", json!(false), "pod: hostUsers=false"),
        (pod, "shareProcessNamespace", json!(true), "pod: shareProcessNamespace=true"),
        (pod, "serviceAccountName", json!("x"), "pod: serviceAccountName=x"),
        (pod, "runtimeClassName", json!("x"), "pod: runtimeClassName=x"),
        (pod, "securityContext", json!({"fsGroup": 0}), "pod: securityContext.fsGroup=0"),
        (
            pod,
            "securityContext",
            json!({"sysctls": [{"name": "n", "value": "1"}]}),
            "pod: securityContext.sysctls={\"name\":\"n\",\"value\":\"1\"}",
        ),
        (pod, "hostAliases", json!([{"ip": "::1"}]), "pod: hostAliases={\"ip\":\"::1\"}"),
        (pod, "initContainers", json!([{"name": "i"}]), "first, container i"),
        (pod, "resourceClaims", json!([{"name": "r"}]), "pod: resourceClaims={\"name\":\"r\"}"),
        (container, "command", json!(["sh"]), "c: command=sh"),
        (
            "/spec/template/metadata",
            "annotations",
            json!({"cdi.k8s.io/x": "vendor.com/gpu=all"}),
            "pod: annotation: cdi.k8s.io/x=vendor.com/gpu=all",
        ),
        (
            "/spec/template/metadata",
            "labels",
            json!({"app.kubernetes.io/name": "d", "example.com/inject": "true"}),
            "pod: label: example.com/inject=true",
        ),
        (
            "/spec",
            "updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
            "rollout: maxSurge=1",
        ),
        (
            "/spec",
            "updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}),
            "rollout: maxUnavailable=1",
        ),
        ("/metadata", "annotations", json!({"example.com/role": "r"}), "DaemonSet: annotation: example.com/role=r"),
        (
            container,
            "resources",
            json!({"requests": {"cpu": "1", "memory": "1"}, "limits": {"vendor.com/gpu": 1}}),
            "c: resources.limits: vendor.com/gpu=1",
        ),
        (container, "resources", json!({"claims": [{"name": "r"}]}), "c: resources: claims={\"name\":\"r\"}"),
        (
            container,
            "terminationMessagePath",
            json!("/dev/termination-log"),
            "c: terminationMessagePath=/dev/termination-log",
        ),
        (container, "env", json!([{"name": "E", "value": "1"}]), "c: environment {\"name\":\"E\",\"value\":\"1\"}"),
        (container, "envFrom", json!([{"secretRef": {"name": "s"}}]), "c: envFrom={\"secretRef\":{\"name\":\"s\"}}"),
        (container, "ports", json!([{"containerPort": 9}]), "c: port 9/TCP"),
        (
            container,
            "lifecycle",
            json!({"postStart": {"exec": {"command": ["x"]}}}),
            "c: lifecycle.postStart.exec.command=x",
        ),
        (container, "volumeDevices", json!([{"name": "b"}]), "c: volumeDevices={\"name\":\"b\"}"),
        (container, "tty", json!(true), "c: tty=true"),
        (container, "livenessProbe", json!({"exec": {"command": ["x"]}}), "c: livenessProbe: exec.command=x"),
        (container, "livenessProbe", json!({"httpGet": {"host": "e.com"}}), "c: livenessProbe host=e.com"),
    ] {
        let mut more = little();
        more.pointer_mut(place).unwrap()[key] = value;
        let added: Vec<String> = facts(&more).into_iter().filter(|fact| !facts(&little()).contains(fact)).collect();
        assert_eq!(added, [sentence], "{key}");
    }
}

#[test]
fn every_word_of_a_security_context_counts() {
    for (key, value, sentence) in [
        ("privileged", json!(true), "c: securityContext.privileged=true"),
        ("allowPrivilegeEscalation", json!(true), "c: securityContext.allowPrivilegeEscalation=true"),
        ("procMount", json!("Unmasked"), "c: securityContext.procMount=Unmasked"),
        ("runAsUser", json!(0), "c: securityContext.runAsUser=0"),
        (
            "capabilities",
            json!({"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
            "c: securityContext.capabilities.add=SYS_ADMIN",
        ),
        ("seccompProfile", json!({"type": "Unconfined"}), "c: securityContext.seccompProfile.type=Unconfined"),
    ] {
        let mut more = little();
        more.pointer_mut("/spec/template/spec/containers/0/securityContext").unwrap()[key] = value;
        let added: Vec<String> = facts(&more).into_iter().filter(|fact| !facts(&little()).contains(fact)).collect();
        assert_eq!(added, [sentence], "{key}");
    }
    let mut less = little();
    less.pointer_mut("/spec/template/spec/containers/0/securityContext").unwrap()["capabilities"] = json!({});
    assert!(!facts(&less).contains(&"c: securityContext.capabilities.drop=ALL".to_owned()));
}

#[test]
fn a_mount_is_told_with_its_source_and_everything_about_it() {
    let with = |mount: Value, volume: Value| {
        let mut more = little();
        let pod = more.pointer_mut("/spec/template/spec").unwrap();
        pod["containers"][0]["volumeMounts"] = json!([mount]);
        pod["volumes"] = json!([volume]);
        facts(&more).into_iter().filter(|fact| fact.contains("/v") || fact.contains("volume")).collect::<Vec<_>>()
    };
    let mount = json!({"name": "v", "mountPath": "/v"});
    for (volume, sentence) in [
        (json!({"name": "v", "hostPath": {"path": "/", "type": ""}}), "c: /v is the node's / (), writable"),
        (json!({"name": "v", "hostPath": {"path": "/"}}), "c: /v is the node's / (whatever is there), writable"),
        (json!({"name": "v", "secret": {"secretName": "s"}}), "c: /v is secret s, writable"),
        (json!({"name": "v", "csi": {"driver": "d"}}), "c: /v is csi {\"driver\":\"d\"}, writable"),
        (json!({"name": "v", "emptyDir": {}}), "c: /v is an empty directory, writable"),
        (json!({"name": "w", "emptyDir": {}}), "c: /v is volume v, which there is not, writable"),
    ] {
        assert_eq!(with(mount.clone(), volume)[0], sentence);
    }
    let odd = json!({"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional", "subPath": "s"});
    let told = with(odd, json!({"name": "v", "emptyDir": {}}));
    assert!(told.contains(&"c: /v: mountPropagation=Bidirectional".to_owned()), "{told:?}");
    assert!(told.contains(&"c: /v: subPath=s".to_owned()), "{told:?}");
    let unused = with(json!({"name": "x", "mountPath": "/v"}), json!({"name": "v", "hostPath": {"path": "/etc"}}));
    assert!(
        unused.contains(&"volume v, mounted nowhere: the node's /etc (whatever is there)".to_owned()),
        "{unused:?}"
    );
}

#[test]
fn other_objects_count_too() {
    let network = json!({"kind": "NetworkPolicy", "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "egress": [],
        "ingress": [{"ports": [{"port": 1}]}]}});
    assert_eq!(
        facts(&network),
        ["network: ingress={\"ports\":[{\"port\":1}]}", "network: policyTypes=Ingress", "object NetworkPolicy"]
    );
    let account = json!({"kind": "ServiceAccount", "metadata": {}, "automountServiceAccountToken": true, "secrets": [{"name": "s"}]});
    assert_eq!(
        facts(&account),
        [
            "object ServiceAccount",
            "service account: automountServiceAccountToken=true",
            "service account: secrets={\"name\":\"s\"}"
        ]
    );
    let user = |name: &str| format!("system:serviceaccount:devgate:{name}");
    let scc = json!({"kind": "SecurityContextConstraints", "users": [user("x"), user("y")]});
    let pod = json!({"kind": "Pod", "spec": {"containers": [], "serviceAccountName": "x"}});
    let named: Vec<_> = super::of(&[scc, pod]).into_iter().filter(|fact| fact.starts_with("scc:")).collect();
    assert_eq!(named, ["scc: users=system:serviceaccount:devgate:y"], "whose account no pod has");
    assert_eq!(facts(&json!({"kind": "ClusterRoleBinding"})), ["object ClusterRoleBinding"]);
    let namespace = json!({"kind": "Namespace", "metadata": {"labels": {"app.kubernetes.io/name": "x", "pod-security.kubernetes.io/enforce": "privileged"}}});
    assert_eq!(facts(&namespace), ["namespace: pod-security.kubernetes.io/enforce=privileged", "object Namespace"]);
    for (kind, place) in [
        ("Pod", json!({"containers": [{"name": "c"}]})),
        ("CronJob", json!({"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}})),
    ] {
        assert!(facts(&json!({"kind": kind, "spec": place})).contains(&"container c".to_owned()), "{kind}");
    }
}

#[test]
fn what_openshift_lets_through_is_said_where_no_pod_asks_for_it() {
    let lets = |capability: &str| json!({"kind": "SecurityContextConstraints", "allowHostPID": false, "allowedCapabilities": [capability]});
    let mut pod = little();
    pod["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = json!(["SYSLOG"]);
    let found = |capability| of(&[lets(capability), pod.clone()]);
    assert!(found("SYSLOG").contains("scc: allowHostPID=false"));
    assert!(!found("SYSLOG").iter().any(|fact| fact.starts_with("scc: allowedCapabilities")));
    assert!(found("SYS_ADMIN").contains("scc: allowedCapabilities=SYS_ADMIN"));
}
