//! Lines 30 to 42: Allocate.

use std::time::Duration;

use devgate_core::offer::{AllocateError, Reply};
use devgate_fake_kubelet::{CHECKPOINT, Container, Event, KubeletVersion, Pod, Rejection};
use devgate_kubelet::api;
use prost::Message as _;

use crate::fake::{Fake, device, unhealthy};
use crate::harness::{GPU, LONG, NIC, Pair, allocate_request, count, eventually};

#[tokio::test]
async fn c30_one_response_for_each_request_in_order() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a", "b", "c"])]).await;
    let request = allocate_request(&[&["c"], &["a", "b"], &["b"]]);
    let response = pair.client(GPU).await.allocate(request).await.unwrap().into_inner();
    let envs: Vec<_> = response.container_responses.iter().map(|r| r.envs["VENDOR_COM_GPU"].as_str()).collect();
    assert_eq!(envs, ["c", "a,b", "b"]);
}

#[tokio::test]
async fn c31_the_same_set_gives_the_same_bytes_in_any_order() {
    let fake = Fake::new(GPU, &["a", "b", "c"]);
    let pair = Pair::new(&[&fake]).await;
    let mut client = pair.client(GPU).await;
    let mut replies = Vec::new();
    for ids in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        replies.push(client.allocate(allocate_request(&[&ids])).await.unwrap().into_inner().encode_to_vec());
    }
    let twice = allocate_request(&[&["c", "a", "c", "b", "a"]]);
    replies.push(client.allocate(twice).await.unwrap().into_inner().encode_to_vec());
    replies.dedup();
    assert_eq!(replies.len(), 1);
    assert!(fake.calls().iter().all(|ids| ids == &["a", "b", "c"]), "{:?}", fake.calls());
}

#[tokio::test]
async fn c32_ids_may_be_allocated_again() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::new(&[&fake]).await;
    let pod = Pod {
        name: "pod".to_owned(),
        containers: vec![
            Container::init("init", &[(GPU, 2)]),
            Container::new("one", &[(GPU, 1)]),
            Container::new("two", &[(GPU, 1)]),
        ],
    };
    pair.kubelet.admit(&pod).await.unwrap();
    let calls = fake.calls();
    assert_eq!(calls[0], ["a", "b"]);
    assert_eq!((calls[1].len(), calls[2].len()), (1, 1));
    assert_ne!(calls[1], calls[2]);
    assert_eq!(pair.kubelet.allocated(GPU).len(), 2);
    let mut client = pair.client(GPU).await;
    let first = client.allocate(allocate_request(&[&["a"]])).await.unwrap().into_inner();
    let again = client.allocate(allocate_request(&[&["a"]])).await.unwrap().into_inner();
    assert_eq!(first, again);
}

#[tokio::test]
async fn c32_a_kubelet_that_lost_its_checkpoint_may_allocate_for_running_pods_again() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
    let before = pair.kubelet.start_container("pod", "main").await.unwrap();
    pair.kubelet.stop().await;
    std::fs::remove_file(pair.dir.join(CHECKPOINT)).unwrap();
    pair.kubelet.start().await.unwrap();
    pair.until(|kubelet| kubelet.allocatable(GPU) == Some(1)).await;
    assert_eq!(pair.kubelet.allocated(GPU).len(), 0);
    assert_eq!(pair.kubelet.start_container("pod", "main").await.unwrap(), before);
    assert_eq!(fake.calls(), [["a"], ["a"]]);
    assert_eq!(pair.kubelet.allocated(GPU).len(), 1);
}

#[tokio::test]
async fn c33_an_id_that_cannot_be_given_fails_the_whole_call_and_is_named() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::new(&[&fake]).await;
    fake.set(vec![device("a"), unhealthy("hot")]);
    let mut client = pair.client(GPU).await;
    let cases = [
        ("never-there", tonic::Code::InvalidArgument),
        ("b", tonic::Code::InvalidArgument),
        ("hot", tonic::Code::FailedPrecondition),
    ];
    for (id, code) in cases {
        for request in [allocate_request(&[&[id]]), allocate_request(&[&["a"], &["a", id]])] {
            let status = client.allocate(request).await.unwrap_err();
            assert_eq!(status.code(), code, "{id}");
            assert!(status.message().contains(id), "{}", status.message());
        }
    }
}

#[tokio::test]
async fn c33_every_kind_of_failure_has_its_code_and_reaches_the_pod() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    let cases = [
        (AllocateError::Unknown("u".to_owned()), "InvalidArgument desc = u"),
        (AllocateError::Refused("r".to_owned()), "FailedPrecondition desc = r"),
        (AllocateError::Busy("b".to_owned()), "Unavailable desc = b"),
        (AllocateError::Guest("g".to_owned()), "Internal desc = g"),
        (AllocateError::Host("h".to_owned()), "Internal desc = h"),
    ];
    for (n, (failure, text)) in cases.into_iter().enumerate() {
        fake.fail(Some(failure));
        let rejection = pair.kubelet.admit(&Pod::new(&format!("pod-{n}"), &[(GPU, 1)])).await.unwrap_err();
        let message = format!("Pod was rejected: Allocate failed due to rpc error: code = {text}, which is unexpected");
        assert_eq!(rejection, Rejection { message });
    }
    fake.fail(None);
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
}

/// A call for several containers, which no kubelet makes yet: what the first would have got does not reach it.
#[tokio::test]
async fn c34_what_a_call_gave_before_it_failed_is_taken_back() {
    let gpu = Fake::new(GPU, &["gpu-0", "gpu-1", "gpu-2"]);
    let pair = Pair::new(&[&gpu]).await;
    let mut client = pair.client(GPU).await;
    let request = allocate_request(&[&["gpu-2", "gpu-0"], &[], &["gpu-1"], &["gpu-9"]]);
    let status = client.allocate(request).await.unwrap_err();
    assert!(status.message().contains("gpu-9"), "{status}");
    let ids = ["gpu-0", "gpu-1", "gpu-2"].map(str::to_owned).to_vec();
    assert_eq!(gpu.told(), [("taken back", ids)]);
    client.allocate(allocate_request(&[&["gpu-0"], &["gpu-1"]])).await.unwrap();
    assert_eq!(gpu.told().len(), 1);
    pair.host.stop().await.unwrap();
}

#[tokio::test]
async fn c34_a_failed_preparation_fails_the_call_and_leaves_only_the_new_list() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::new(&[&fake]).await;
    let lists = |pair: &Pair| count(&pair.kubelet, |event| matches!(event, Event::List { .. }));
    let before = lists(&pair);
    fake.fail(Some(AllocateError::Refused("b does not come up".to_owned())));
    assert!(pair.kubelet.admit(&Pod::new("pod", &[(GPU, 2)])).await.is_err());
    assert_eq!(pair.kubelet.start_container("pod", "main").await.unwrap(), Default::default());
    assert_eq!(lists(&pair), before, "a failure alone pushes nothing");
    fake.set(vec![device("a"), unhealthy("b")]);
    pair.until(|kubelet| kubelet.allocatable(GPU) == Some(1)).await;
    fake.fail(None);
    pair.kubelet.admit(&Pod::new("next", &[(GPU, 1)])).await.unwrap();
    assert_eq!(fake.calls().last().unwrap(), &["a"]);
}

#[tokio::test]
async fn c35_a_call_that_hangs_below_ends_within_the_bound() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::with(&[&fake], |config| config.allocate_timeout = Duration::from_millis(200), |_| {}).await;
    fake.close_gate();
    let admitted = tokio::time::timeout(LONG, pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)]))).await;
    let rejection = admitted.expect("no end").unwrap_err();
    assert!(
        rejection.message.contains("DeadlineExceeded desc = vendor.com/gpu: no answer within 200ms"),
        "{rejection}"
    );
    fake.open_gate();
    pair.kubelet.admit(&Pod::new("next", &[(GPU, 1)])).await.unwrap();
}

#[tokio::test]
async fn c36_calls_run_in_parallel() {
    let fake = Fake::new(GPU, &["a", "b", "c"]);
    let pair = Pair::new(&[&fake]).await;
    fake.close_gate();
    let client = pair.client(GPU).await;
    let calls: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|id| {
            let mut client = client.clone();
            tokio::spawn(async move { client.allocate(allocate_request(&[&[id]])).await })
        })
        .collect();
    eventually("three at once", || fake.inside() == 3).await;
    fake.open_gate();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn c37_empty_requests_are_answered_in_kind() {
    let fake = Fake::new(GPU, &["a"]);
    let pair = Pair::new(&[&fake]).await;
    let mut client = pair.client(GPU).await;
    let none = client.allocate(allocate_request(&[])).await.unwrap().into_inner();
    assert_eq!(none.container_responses, []);
    let empty = client.allocate(allocate_request(&[&[], &["a"], &[]])).await.unwrap().into_inner();
    assert_eq!(empty.container_responses.len(), 3);
    assert_eq!(empty.container_responses[0], api::ContainerAllocateResponse::default());
    assert_eq!(fake.calls(), [["a"]]);
}

#[tokio::test]
async fn c38_paths_are_absolute_and_permissions_say_something() {
    let pair = Pair::new(&[&Fake::new(GPU, &["a", "b"])]).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 2)])).await.unwrap();
    let options = pair.kubelet.start_container("pod", "main").await.unwrap();
    assert_eq!(options.devices.len(), 2);
    for device in options.devices.values() {
        assert!(device.host_path.starts_with('/') && device.container_path.starts_with('/'), "{device:?}");
        assert_eq!(device.permissions, "rw");
    }
    let mount = &options.mounts["/opt/vendor.com/gpu"];
    assert!(mount.read_only && mount.host_path == "/opt");
}

#[tokio::test]
async fn c39_two_resources_in_one_container_are_merged_the_same_way_each_time() {
    let (gpu, nic) = (Fake::new(GPU, &["a"]), Fake::new(NIC, &["b"]));
    let pair = Pair::new(&[&gpu, &nic]).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1), (NIC, 1)])).await.unwrap();
    let options = pair.kubelet.start_container("pod", "main").await.unwrap();
    assert_eq!(options.conflicts, Vec::<String>::new());
    assert_eq!(options.envs["VENDOR_COM_GPU"], "a");
    assert_eq!(options.envs["VENDOR_COM_NIC"], "b");
    assert_eq!(options.devices.len(), 2);
    // Every start of the container uses the cached replies again.
    assert_eq!(pair.kubelet.start_container("pod", "main").await.unwrap(), options);
    assert_eq!((gpu.calls().len(), nic.calls().len()), (1, 1));
}

#[tokio::test]
async fn c42_cdi_names_go_by_field_which_a_kubelet_before_1_29_does_not_pass_on() {
    for (minor, arrives) in [(28, false), (29, true)] {
        let fake = Fake::new(GPU, &["a"]);
        fake.add(Reply { cdi: ["vendor.com/gpu=a".to_owned()].into(), ..Reply::default() });
        let version = KubeletVersion::minor(minor);
        let pair = Pair::with(&[&fake], |_| {}, |config| config.version = version).await;
        pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
        let options = pair.kubelet.start_container("pod", "main").await.unwrap();
        assert_eq!(options.cdi_devices.contains("vendor.com/gpu=a"), arrives, "1.{minor}");
        assert!(options.annotations.is_empty(), "{:?}", options.annotations);
        // What any kubelet knows is there in both cases.
        assert_eq!((options.devices.len(), options.mounts.len(), options.envs.len()), (1, 1, 1));
    }
}
