//! Lines of `host/device-plugin/tests/conformance/README.md` that need more than the front end: the real program, with components in text.

use crate::wat_component::{Edits, HEALTHY, Memory, SPIN, Unit};
use devgate_fake_kubelet::Pod;
use devgate_kubelet::api;
use devgate_kubelet::api::device_plugin_client::DevicePluginClient;
use devgate_tests::{Host, Kind, Setup, generic_policy, recording};
use hyper_util::rt::TokioIo;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Status};

const HEAD: &str = "apiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins:\n";
const TEXT: &str = "test.dev/text";

/// A policy entry for a component in text. Where it does not say how long a call may take: long, as a machine may stand still.
pub(crate) fn entry(name: &str, resource: &str, more: &str) -> String {
    let patient = if more.contains("limits:") { "" } else { "    limits: {deadline: 20s}\n" };
    format!("  {name}:\n    component: {{file: {name}.wasm}}\n    resources: [{resource}]\n{patient}{more}")
}

pub(crate) fn policy(entries: &[String]) -> String {
    format!("{HEAD}{}", entries.concat())
}

/// A client of the socket under which a resource is registered.
pub(crate) async fn client(host: &Host, resource: &str) -> anyhow::Result<DevicePluginClient<Channel>> {
    host.wait(|kubelet| kubelet.streams(resource).len() == 1).await?;
    let socket = host.kubelet.streams(resource).remove(0);
    let connector = tower::service_fn(move |_: Uri| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(connector).await?;
    Ok(DevicePluginClient::new(channel))
}

pub(crate) async fn allocate(
    client: &mut DevicePluginClient<Channel>,
    ids: &[&str],
) -> Result<api::ContainerAllocateResponse, Status> {
    let devices_ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let request = api::AllocateRequest { container_requests: vec![api::ContainerAllocateRequest { devices_ids }] };
    let response = client.allocate(request).await?.into_inner();
    Ok(response.container_responses.into_iter().next().unwrap_or_default())
}

fn units(ids: &[&str]) -> Vec<Unit> {
    ids.iter().map(|id| Unit::new(id)).collect()
}

/// `TEXT` with these units; `allocate` is the body for one unit, `many` for more.
fn text_component(ids: &[&str], many: impl FnOnce(&mut Memory) -> String) -> Vec<u8> {
    let mut memory = Memory::default();
    let pools = memory.pools(&[(TEXT.to_owned(), units(ids))]);
    let (one, many) = (memory.edits(&Edits::default()), many(&mut memory));
    let allocate = format!("(if (result i32) (i32.gt_u (local.get 3) (i32.const 1)) (then {many}) (else {one}))");
    memory.plugin(&pools, HEALTHY, &allocate)
}

#[tokio::test(flavor = "multi_thread")]
async fn c20_no_two_resources_list_the_same_id() -> anyhow::Result<()> {
    let component = |resource: &str, own: &str| {
        let mut memory = Memory::default();
        let pools = memory.pools(&[(resource.to_owned(), units(&["same", own]))]);
        let edits = memory.edits(&Edits::default());
        memory.plugin(&pools, HEALTHY, &edits)
    };
    let entries = [entry("one", "test.dev/one", ""), entry("two", "test.dev/two", "")];
    let host = Setup::new(&policy(&entries))
        .with("one.wasm", component("test.dev/one", "a"))
        .with("two.wasm", component("test.dev/two", "b"))
        .start()
        .await?;
    host.allocatable("test.dev/one", 2).await?;
    host.allocatable("test.dev/two", 1).await?;
    let ids = |resource: &str| host.kubelet.devices(resource).into_keys().collect::<Vec<_>>();
    assert_eq!((ids("test.dev/one"), ids("test.dev/two")), (vec!["a".into(), "same".into()], vec!["b".into()]));
    let line = host.logged(|line| line.plugin == "two" && line.level == "WARN").await?;
    assert!(line.message.contains("id same is already one of plugin one"), "{}", line.message);
    let error = allocate(&mut client(&host, "test.dev/two").await?, &["same"]).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c21_ids_stay_and_pods_are_admitted_again_after_a_reboot() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 3 };
    let resource = kind.resource();
    let mut host = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind])).start().await?;
    host.allocatable(&resource, 3).await?;
    let pod = Pod::new("pod", &[(resource.as_str(), 2)]);
    host.kubelet.admit(&pod).await?;
    let (devices, held) = (host.kubelet.devices(&resource), host.kubelet.allocated(&resource));
    let started = host.kubelet.start_container("pod", "main").await.map_err(anyhow::Error::msg)?;
    host.end(Signal::KILL).await?;
    host.kubelet.stop().await;
    // The kernel finds the devices in another order this time.
    let text = recording(&[kind]);
    let mut blocks: Vec<_> = text.split_terminator("\n\n").collect();
    blocks.reverse();
    host.replay(&(blocks.join("\n\n") + "\n\n"))?;
    host.kubelet.start().await?;
    host.spawn()?;
    host.wait(|kubelet| kubelet.devices(&resource) == devices).await?;
    host.kubelet.admit(&pod).await?;
    assert_eq!(host.kubelet.allocated(&resource), held);
    assert_eq!(host.kubelet.start_container("pod", "main").await, Ok(started));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c33_what_cannot_be_given_is_named_and_nothing_is_given() -> anyhow::Result<()> {
    let mut memory = Memory::default();
    let pools = memory.pools(&[(TEXT.to_owned(), units(&["bad", "good"]))]);
    let health = memory.verdicts(&[Some("too\u{1b}[31m hot"), None]);
    let edits = memory.edits(&Edits::default());
    let host = Setup::new(&policy(&[entry("text", TEXT, "")]))
        .with("text.wasm", memory.plugin(&pools, &health, &edits))
        .start()
        .await?;
    host.allocatable(TEXT, 1).await?;
    let mut client = client(&host, TEXT).await?;
    let cases = [
        ("bad", Code::FailedPrecondition, "device bad is unhealthy: too\\u{1b}[31m hot"),
        ("never", Code::InvalidArgument, "there is no device never"),
        ("good::0", Code::InvalidArgument, "there is no device good::0"),
        ("\u{7}\n", Code::InvalidArgument, "there is no device \\u{7}\\n"),
    ];
    for (id, code, text) in cases {
        for ids in [vec![id], vec!["good", id]] {
            let error = allocate(&mut client, &ids).await.unwrap_err();
            assert_eq!(error.code(), code, "{id}: {error}");
            assert!(error.message().ends_with(text), "{error}");
        }
    }
    allocate(&mut client, &["good"]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c34_a_failed_allocation_holds_nothing() -> anyhow::Result<()> {
    let component = text_component(&["a", "b"], |memory| memory.failure("b does\nnot come up"));
    let host = Setup::new(&policy(&[entry("text", TEXT, "")])).with("text.wasm", component).start().await?;
    host.allocatable(TEXT, 2).await?;
    let rejection = host.kubelet.admit(&Pod::new("two", &[(TEXT, 2)])).await.unwrap_err();
    assert!(rejection.message.contains("b does\\nnot come up"), "{rejection}");
    assert!(host.kubelet.allocated(TEXT).is_empty());
    // Nor does the host hold anything for it.
    let status = crate::look::status(&host)?;
    let devices = status["plugins"][0]["resources"][0]["devices"].as_array();
    let held: Vec<_> = devices.into_iter().flatten().map(|device| &device["held"]).collect();
    assert_eq!(held, [false, false]);
    for pod in ["a", "b"] {
        host.kubelet.admit(&Pod::new(pod, &[(TEXT, 1)])).await?;
    }
    assert_eq!(host.kubelet.allocated(TEXT).len(), 2);
    assert_eq!(host.kubelet.allocatable(TEXT), Some(2));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c35_an_allocation_that_hangs_or_breaks_ends_in_time_and_alone() -> anyhow::Result<()> {
    for (what, many, code, text) in [
        ("hangs", SPIN, Code::Internal, "allocate exceeded its "),
        ("breaks", "(unreachable)", Code::Internal, "trapped: wasm `unreachable`"),
        ("lies", "(i32.const 0x7fff0000)", Code::Internal, "allocate"),
    ] {
        let component = text_component(&["a", "b"], |_| many.to_owned());
        let host = Setup::new(&policy(&[entry("text", TEXT, "")])).with("text.wasm", component).start().await?;
        host.allocatable(TEXT, 2).await?;
        let mut client = client(&host, TEXT).await?;
        let (mut both, mut one) = (client.clone(), client.clone());
        let (both, one) = tokio::join!(allocate(&mut both, &["a", "b"]), allocate(&mut one, &["a"]));
        let error = both.unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
        assert!(error.message().contains(text), "{what}: {error}");
        one?;
        allocate(&mut client, &["b"]).await?;
        assert_eq!(host.kubelet.allocatable(TEXT), Some(2), "{what}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c35_a_health_check_that_hangs_keeps_the_resource_away() -> anyhow::Result<()> {
    let mut memory = Memory::default();
    let pools = memory.pools(&[(TEXT.to_owned(), units(&["a"]))]);
    let edits = memory.edits(&Edits::default());
    let host = Setup::new(&policy(&[entry("text", TEXT, "")]))
        .with("text.wasm", memory.plugin(&pools, SPIN, &edits))
        .start()
        .await?;
    let line = host.logged(|line| line.plugin == "text" && line.level == "ERROR").await?;
    assert!(line.message.contains("health exceeded its "), "{}", line.message);
    assert_eq!(host.kubelet.capacity(TEXT), None);
    Ok(())
}

/// Replicas of one device: their allocations are of the same hardware.
#[tokio::test(flavor = "multi_thread")]
async fn c36_allocations_of_the_same_hardware_take_turns() -> anyhow::Result<()> {
    let mut memory = Memory::default();
    let pools = memory.pools(&[(TEXT.to_owned(), units(&["a"]))]);
    let edits = memory.edits(&Edits::default());
    let [[begin, begin_len], [end, end_len]] = ["begins", "ends"].map(|text| memory.text(text));
    const INFO: u32 = 1;
    let allocate_body = format!(
        "(local $n i32)
         (call $log (i32.const {INFO}) (i32.const {begin}) (i32.const {begin_len}))
         (loop $again
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $n) (i32.const 50000000))))
         (call $log (i32.const {INFO}) (i32.const {end}) (i32.const {end_len}))
         {edits}"
    );
    let more = "    replicas: 8\n    limits: {cpu: 5s, deadline: 10s}\n";
    let host = Setup::new(&policy(&[entry("text", TEXT, more)]))
        .with("text.wasm", memory.plugin(&pools, HEALTHY, &allocate_body))
        .start()
        .await?;
    host.allocatable(TEXT, 8).await?;
    let client = client(&host, TEXT).await?;
    let calls: Vec<_> = (0..8)
        .map(|n| {
            let mut client = client.clone();
            tokio::spawn(async move { allocate(&mut client, &[&format!("a::{n}")]).await })
        })
        .collect();
    for call in calls {
        call.await??;
    }
    let said = || {
        let lines = host.lines().into_iter().map(|line| line.message);
        lines.filter(|line| line.ends_with("begins") || line.ends_with("ends")).collect::<Vec<_>>()
    };
    host.logged(|_| said().len() == 16).await?;
    for (n, line) in said().iter().enumerate() {
        assert!(line.ends_with(["begins", "ends"][n % 2]), "{:#?}", said());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c38_a_device_whose_node_is_gone_is_refused_by_name() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 2 };
    let resource = kind.resource();
    let host = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind])).start().await?;
    host.allocatable(&resource, 2).await?;
    let mut client = client(&host, &resource).await?;
    let response = allocate(&mut client, &["bench0-1"]).await?;
    let paths: Vec<_> = response.devices.iter().map(|d| d.host_path.as_str()).collect();
    assert_eq!(paths, ["/dev/bench0-1"]);
    host.replay(&recording(&[kind]).replace("N: bench0-1\n", ""))?;
    host.allocatable(&resource, 1).await?;
    let error = allocate(&mut client, &["bench0-0", "bench0-1"]).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("bench0-1"), "{error}");
    allocate(&mut client, &["bench0-0"]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c39_two_resources_in_one_container_share_no_key() -> anyhow::Result<()> {
    let component = |resource: &str, id: &str, key: &str| {
        let mut memory = Memory::default();
        let pools = memory.pools(&[(resource.to_owned(), units(&[id]))]);
        let edits = memory.edits(&Edits { env: vec![(key.to_owned(), id.to_owned())], ..Edits::default() });
        memory.plugin(&pools, HEALTHY, &edits)
    };
    let env = "    containers: {env: {\"{RESOURCE}\": \"{ids}\"}}\n";
    let entries = [entry("one", "test.dev/one", env), entry("two", "test.dev/two", env)];
    let host = Setup::new(&policy(&entries))
        .with("one.wasm", component("test.dev/one", "a", "TEST_DEV_ONE"))
        .with("two.wasm", component("test.dev/two", "b", "TEST_DEV_TWO"))
        .start()
        .await?;
    host.allocatable("test.dev/one", 1).await?;
    host.allocatable("test.dev/two", 1).await?;
    host.kubelet.admit(&Pod::new("pod", &[("test.dev/one", 1), ("test.dev/two", 1)])).await?;
    // The kubelet goes through the resources in another order each time.
    for _ in 0..8 {
        let main = host.kubelet.start_container("pod", "main").await.map_err(anyhow::Error::msg)?;
        assert!(main.conflicts.is_empty());
        let env: Vec<_> = main.envs.into_iter().collect();
        assert_eq!(env, [("TEST_DEV_ONE".into(), "a".into()), ("TEST_DEV_TWO".into(), "b".into())]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c47_asking_for_a_preference_changes_nothing() -> anyhow::Result<()> {
    let kind = Kind { class: 0, count: 200 };
    let resource = kind.resource();
    let host = Setup::new(&generic_policy(&[kind])).on(&recording(&[kind])).start().await?;
    host.allocatable(&resource, 200).await?;
    let mut client = client(&host, &resource).await?;
    let available: Vec<String> = host.kubelet.devices(&resource).into_keys().collect();
    let before = host.kubelet.events().len();
    for size in [0, 1, 7, 200, 201, -1] {
        let request = api::PreferredAllocationRequest {
            container_requests: vec![api::ContainerPreferredAllocationRequest {
                available_device_i_ds: available.clone(),
                must_include_device_i_ds: Vec::new(),
                allocation_size: size,
            }],
        };
        let answer = tokio::time::timeout(Duration::from_secs(30), client.get_preferred_allocation(request)).await??;
        let chosen = answer.into_inner().container_responses.remove(0).device_i_ds;
        let set: BTreeSet<_> = chosen.iter().collect();
        assert!(chosen.is_empty() || i32::try_from(set.len()) == Ok(size), "{size}: {chosen:?}");
        assert!(chosen.iter().all(|id| available.contains(id)), "{chosen:?}");
    }
    assert_eq!(host.kubelet.events().len(), before, "no list was sent");
    host.kubelet.admit(&Pod::new("all", &[(resource.as_str(), 200)])).await?;
    Ok(())
}
