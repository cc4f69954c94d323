use super::*;
use std::cell::RefCell;

const DRM: &str = r#"{"cdiVersion": "0.0.1", "name": "DRM GPUs from vendor International Amazing Graphics Inc.", "type": "gpu", "plugin": "drm",
  "args": {"want_device_nodes": ["primary", "render"], "vendorid_whitelist": ["0x1234", "0x2345"]}}"#;
const TTY: &str = r#"{"cdiVersion": "0.0.1", "name": "TTYs", "type": "tty", "plugin": "generic-tty", "args": {"num_system_reserved": 12}}"#;

/// How a call ended.
#[derive(Debug)]
struct Ended {
    line: Option<String>,
    is_success: bool,
    notes: Vec<String>,
}

/// What a call with these variables and this configuration comes to, and what the host was asked.
fn call_as(program: &str, env: &[(&str, &str)], stdin: &str, answer: Result<Answer, &str>) -> (Ended, Option<Request>) {
    let (asked, notes) = (RefCell::new(None), RefCell::new(Vec::new()));
    let call = Call {
        program,
        env: &|name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        stdin: &|| Ok(stdin.as_bytes().to_vec()),
        tell: &|note| notes.borrow_mut().push(note.to_owned()),
    };
    let ask = |request: &Request| {
        *asked.borrow_mut() = Some(request.clone());
        answer.map_err(str::to_owned)
    };
    let (line, is_success) = call.answer(ask, |_| Ok(()));
    let notes = notes.take();
    (Ended { line, is_success, notes }, asked.into_inner())
}

fn call(env: &[(&str, &str)], answer: Answer) -> (Ended, Option<Request>) {
    call_as("drm", env, DRM, Ok(answer))
}

fn object(ended: &Ended) -> Value {
    serde_json::from_str(ended.line.as_deref().unwrap()).unwrap()
}

/// The number of the error that a call ends with; it has what the rules and what the examples say.
fn error(ended: &Ended) -> u64 {
    let object = object(ended);
    assert_eq!((&object["error"], &object["message"]), (&object["code"], &object["msg"]), "{object}");
    assert!(object["cdiVersion"].is_string() && !ended.notes.is_empty(), "{ended:?}");
    object["error"].as_u64().unwrap()
}

fn add<'a>(request: &'a str, id: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "ADD"), ("CDI_REQUEST", request), ("CDI_REQUEST_ID", id)]
}

fn given(devices: &[&str]) -> Answer {
    Ok(json!({"devices": devices}))
}

#[test]
fn cdi25_version_needs_nothing_and_does_not_fail() {
    for (command, version) in [("VERSION", None), ("version", Some("0.999")), ("Version", Some("0.0.1"))] {
        let env: Vec<_> = [("CDI_COMMAND", Some(command)), ("CDI_VERSION", version)]
            .into_iter()
            .filter_map(|(k, v)| Some((k, v?)))
            .collect();
        for stdin in ["", "garbage", DRM] {
            let (ended, asked) = call_as("drm", &env, stdin, Err("no host"));
            assert!(ended.is_success && asked.is_none());
            let expected = json!({"cdiVersion": "0.0.2", "supportedVersions": ["0.0.1", "0.0.2"]});
            assert_eq!(object(&ended), expected);
        }
    }
}

/// The proposal's, with `error` and `message`, which its rules want and its examples do not have.
#[test]
fn cdi26_every_example_of_the_proposal_is_so() {
    let failed = |number: u64, msg: &str, details: Option<&str>| {
        let mut all = json!({"cdiVersion": "0.0.1", "code": number, "msg": msg, "error": number, "message": msg});
        if let Some(details) = details {
            all["details"] = details.into();
        }
        all
    };
    let (ended, _) = call(&[("CDI_VERSION", "0.999")], Ok(Value::Null));
    assert_eq!(object(&ended), failed(1, "Incompatible CDI version", Some("Unsupported version: 0.999")));
    let (ended, _) = call(&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "MYCMD")], Ok(Value::Null));
    assert_eq!(object(&ended), failed(3, "Command unsupported", Some("Unsupported command: MYCMD")));
    assert!(!ended.is_success);
    let (ended, asked) = call_as("drm", &[("CDI_COMMAND", "INFO")], DRM, Ok(Ok(json!({"gpu": 12}))));
    assert_eq!(
        (object(&ended), asked),
        (json!({"cdiVersion": "0.0.1", "gpu": 12}), Some(Request::Info { kind: "gpu".into() }))
    );
    let (ended, _) = call_as("generic-tty", &[("CDI_COMMAND", "INFO")], TTY, Ok(Ok(json!({"tty": 32}))));
    assert_eq!(object(&ended), json!({"cdiVersion": "0.0.1", "tty": 32}));
    let (ended, _) = call(&add("gpu:1", "1234"), given(&["/dev/dri/card0", "/dev/dri/renderD128"]));
    assert_eq!(object(&ended), json!({"cdiVersion": "0.0.1", "devices": ["/dev/dri/card0", "/dev/dri/renderD128"]}));
    let ttys = ["/dev/tty13", "/dev/tty14", "/dev/tty15"];
    let (ended, asked) = call_as("generic-tty", &add("tty:3", "7890"), TTY, Ok(given(&ttys)));
    assert_eq!(object(&ended), json!({"cdiVersion": "0.0.1", "devices": ttys}));
    let request = Request::Add { kind: "tty".into(), id: "7890".into(), amount: 3, numa: None };
    assert_eq!(asked, Some(request));
    let (ended, asked) = call(&add("gpu:1,gpu-memory:2048Mi", "3456"), Ok(Value::Null));
    assert_eq!(object(&ended), failed(4, "resource-spec unsupported", Some("Unsupported resource-spec: gpu-memory")));
    assert!(asked.is_none() && !ended.is_success);
    let del = |id| [("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "DEL"), ("CDI_REQUEST_ID", id)];
    let (ended, _) = call(&del("1234"), Ok(Value::Null));
    assert_eq!((ended.line, ended.is_success), (None, true));
    let (ended, _) = call(&del("3456"), Err(Fault::UNKNOWN_ID.because("")));
    assert_eq!((object(&ended), ended.is_success), (failed(5, "Unknown request ID", None), true));
}

#[test]
fn cdi27_cdi28_each_error_in_the_order_of_the_rules() {
    type Case = (&'static [(&'static str, &'static str)], &'static str, u64);
    let cases: &[Case] = &[
        // The environment's version, the configuration's, the rest of it, the command, the spec, the amount.
        (&[("CDI_VERSION", "9"), ("CDI_COMMAND", "MYCMD")], r#"{"cdiVersion": "8"}"#, 1),
        (&[("CDI_COMMAND", "ADD")], DRM, 1),
        (&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "MYCMD")], r#"{"cdiVersion": "8"}"#, 2),
        (&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "MYCMD")], r#"{"cdiVersion": "0.0.1"}"#, 101),
        (&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "INFO")], "garbage", 101),
        (&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "INFO")], "", 101),
        (&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "INFO")], r#"{"type": "gpu", "type": "gpu"}"#, 101),
        (
            &[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "INFO")],
            r#"{"cdiVersion": "0.0.1", "name": "x", "type": "gpu", "plugin": "drm", "args": {}, "args": {}}"#,
            101,
        ),
        (&[("CDI_VERSION", "0.0.1")], DRM, 3),
        (&[("CDI_VERSION", "0.0.1"), ("CDI_COMMAND", "INFO")], TTY, 101),
    ];
    for (env, stdin, number) in cases {
        let (ended, asked) = call_as("drm", env, stdin, Ok(Ok(Value::Null)));
        assert_eq!((error(&ended), ended.is_success, asked.is_some()), (*number, false, false), "{env:?} {stdin}");
    }
    for (request, number) in [
        ("gpu-memory:x", 4),
        ("gpux:1", 4),
        ("tty:1", 4),
        ("gpu:8Gi", 100),
        ("gpu:-1", 100),
        ("gpu:99999999999", 100),
        ("gpu", 100),
        ("gpu:1,gpu:1", 100),
        ("", 4),
    ] {
        let (ended, asked) = call(&add(request, "1"), Ok(Value::Null));
        assert_eq!((error(&ended), asked), (number, None), "{request}");
    }
    let (ended, _) = call_as("drm", &add("gpu:1", "1"), DRM, Err("it is not there"));
    assert_eq!((error(&ended), ended.is_success), (106, false));
    let (ended, _) = call(&add("gpu:1", "1"), Err(Fault::NOT_ENOUGH.because("no")));
    assert_eq!((error(&ended), ended.is_success), (102, false));
    let large = format!(r#"{{"args": "{}"}}"#, "x".repeat(MAX_CONFIG));
    let (ended, _) = call_as("drm", &add("gpu:1", "1"), &large, Ok(Ok(Value::Null)));
    assert_eq!(error(&ended), 101);
}

#[test]
fn cdi29_the_grammar_of_ids_and_types_is_held() {
    for (id, is_good) in [
        ("1", true),
        (&"a".repeat(64), true),
        ("a-B-9", true),
        ("", false),
        (&"a".repeat(65), false),
        ("-a", false),
        ("a_b", false),
    ] {
        let (ended, asked) = call(&add("gpu:1", id), given(&[]));
        assert_eq!((ended.is_success, asked.is_some()), (is_good, is_good), "{id}");
        assert!(is_good || error(&ended) == 100);
    }
    for (kind, is_good) in [
        ("a", true),
        ("abcdefghijklmnop", true),
        ("abcdefghijklmnopq", false),
        ("1a", false),
        ("a-b", false),
        ("", false),
    ] {
        let config = DRM.replace("\"gpu\"", &format!("\"{kind}\""));
        let (ended, _) = call_as("drm", &[("CDI_COMMAND", "INFO")], &config, Ok(Ok(json!({"gpu": 1}))));
        assert_eq!(ended.is_success, is_good, "{kind}");
    }
}

#[test]
fn cdi33_numa_nodes_are_asked_for_and_answered() {
    let with = |numa: &'static str| [add("gpu:1", "1"), vec![("CDI_REQUEST_NUMA_LOCALITY", numa)]].concat();
    let asked = |env: &[(&str, &str)]| match call(env, given(&["/dev/a"])) {
        (ended, Some(Request::Add { numa, .. })) => (numa, ended.notes.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(asked(&with("0,1")), (Some(vec![0, 1]), 0));
    assert_eq!(asked(&with("0,x")), (Some(Vec::new()), 1), "ignored, and said");
    assert_eq!(asked(&add("gpu:1", "1")), (None, 0));
    let (ended, _) = call(&with("1"), Ok(json!({"devices": ["/dev/a"], "numa_locality": [1]})));
    assert_eq!(object(&ended)["numa_locality"], json!([1]));
}

#[test]
fn cdi34_del_never_fails() {
    let del = |id| vec![("CDI_COMMAND", "DEL"), ("CDI_REQUEST_ID", id)];
    for (env, stdin) in [(del("1"), "garbage"), ([del("1"), vec![("CDI_VERSION", "9")]].concat(), DRM), (del("1"), TTY)]
    {
        let (ended, asked) = call_as("drm", &env, stdin, Ok(Ok(Value::Null)));
        let kind = (stdin == DRM).then(|| "gpu".to_owned());
        assert_eq!((ended.is_success, ended.line), (true, None));
        assert_eq!(asked, Some(Request::Del { kind, id: "1".into() }));
    }
    let (ended, asked) = call_as("drm", &del("a_b"), DRM, Ok(Ok(Value::Null)));
    assert_eq!((error(&ended), ended.is_success, asked), (100, true, None));
    let (ended, _) = call_as("drm", &del("1"), DRM, Err("it is not there"));
    assert_eq!((error(&ended), ended.is_success), (106, true));
    assert!(object(&ended)["details"].as_str().unwrap().contains("when it starts"), "{ended:?}");
}
