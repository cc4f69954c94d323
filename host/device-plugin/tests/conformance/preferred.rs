//! Lines 45 to 48: GetPreferredAllocation and PreStartContainer.

use std::time::Duration;

use devgate_fake_kubelet::Pod;
use devgate_kubelet::api;

use devgate_core::offer::AllocateError;

use crate::fake::{Choice, Fake};
use crate::harness::{GPU, LONG, Pair};

fn request(available: &[&str], must_include: &[&str], size: i32) -> api::PreferredAllocationRequest {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    api::PreferredAllocationRequest {
        container_requests: vec![api::ContainerPreferredAllocationRequest {
            available_device_i_ds: owned(available),
            must_include_device_i_ds: owned(must_include),
            allocation_size: size,
        }],
    }
}

async fn preferred(pair: &Pair, request: api::PreferredAllocationRequest) -> Vec<String> {
    let mut client = pair.client(GPU).await;
    let answer = tokio::time::timeout(LONG, client.get_preferred_allocation(request)).await;
    let answer = answer.expect("no answer").unwrap().into_inner();
    assert_eq!(answer.container_responses.len(), 1);
    answer.container_responses[0].device_i_ds.clone()
}

#[tokio::test]
async fn c45_with_options_off_both_calls_still_answer() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::with(&[&fake], |config| config.preferred_allocation = false, |_| {}).await;
    let mut client = pair.client(GPU).await;
    let options = client.get_device_plugin_options(api::Empty {}).await.unwrap().into_inner();
    assert_eq!(options, api::DevicePluginOptions::default());
    assert_eq!(preferred(&pair, request(&["a", "b"], &[], 1)).await, ["b"]);
    let ids = vec!["a".to_owned(), "unknown".to_owned()];
    for devices_ids in [ids, Vec::new()] {
        client.pre_start_container(api::PreStartContainerRequest { devices_ids }).await.unwrap();
    }
    let empty = api::PreferredAllocationRequest::default();
    let answer = client.get_preferred_allocation(empty).await.unwrap().into_inner();
    assert_eq!(answer, api::PreferredAllocationResponse::default());
    // The kubelet does not ask.
    fake.choose_as(Choice::Hang);
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 1)])).await.unwrap();
}

#[tokio::test]
async fn c46_a_preference_is_possible_and_complete_or_none() {
    let fake = Fake::new(GPU, &["a", "b", "c", "d"]);
    let pair = Pair::new(&[&fake]).await;
    assert_eq!(preferred(&pair, request(&["a", "b", "c"], &["a"], 2)).await, ["a", "c"]);
    // More than there are, none, and less than none.
    assert!(preferred(&pair, request(&["a"], &[], 2)).await.is_empty());
    assert!(preferred(&pair, request(&["a"], &[], 0)).await.is_empty());
    assert!(preferred(&pair, request(&["a"], &[], -1)).await.is_empty());
    assert!(preferred(&pair, request(&["a"], &["b"], 1)).await.is_empty());
    assert!(preferred(&pair, request(&["a", "b"], &["a", "b"], 1)).await.is_empty());
    // An id that is listed twice is there once.
    assert!(preferred(&pair, request(&["a", "a"], &[], 2)).await.is_empty());
    for wrong in [&["z", "a"][..], &["a", "a"], &["a"], &["a", "b", "c"], &["b", "c"]] {
        fake.choose_as(Choice::These(wrong.iter().map(|id| (*id).to_owned()).collect()));
        assert!(preferred(&pair, request(&["a", "b", "c"], &["a"], 2)).await.is_empty(), "{wrong:?}");
    }
}

#[tokio::test]
async fn c46_the_kubelet_takes_what_is_preferred_where_it_asks() {
    let fake = Fake::new(GPU, &["a", "b", "c", "d"]);
    let pair = Pair::new(&[&fake]).await;
    pair.kubelet.admit(&Pod::new("pod", &[(GPU, 2)])).await.unwrap();
    assert_eq!(fake.calls(), [["c", "d"]]);
    // Without an opinion, any will do.
    fake.choose_as(Choice::These(Vec::new()));
    pair.kubelet.admit(&Pod::new("next", &[(GPU, 1)])).await.unwrap();
    assert_eq!(pair.kubelet.allocated(GPU).len(), 3);
}

#[tokio::test]
async fn c47_a_choice_that_takes_too_long_is_no_opinion() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::with(&[&fake], |config| config.choose_timeout = Duration::from_millis(50), |_| {}).await;
    fake.choose_as(Choice::Hang);
    assert!(preferred(&pair, request(&["a", "b"], &[], 1)).await.is_empty());
    assert!(fake.calls().is_empty(), "and has no effects");
}

#[tokio::test]
async fn c47_a_pod_that_needs_a_choice_gets_its_devices_although_none_is_made() {
    let fake = Fake::new(GPU, &["a", "b"]);
    let pair = Pair::with(&[&fake], |config| config.choose_timeout = Duration::from_millis(50), |_| {}).await;
    fake.choose_as(Choice::Hang);
    let pod = Pod::new("pod", &[(GPU, 1)]);
    let admitted = tokio::time::timeout(LONG, pair.kubelet.admit(&pod)).await;
    admitted.expect("no end").unwrap();
    assert_eq!(pair.kubelet.allocated(GPU).len(), 1);
}

#[tokio::test]
async fn c47_choosing_again_gives_the_same_in_whatever_order_it_is_asked() {
    let fake = Fake::new(GPU, &["a", "b", "c"]);
    let pair = Pair::new(&[&fake]).await;
    let first = preferred(&pair, request(&["a", "b", "c"], &["b"], 2)).await;
    assert_eq!(preferred(&pair, request(&["c", "b", "a"], &["b"], 2)).await, first);
    assert!(fake.calls().is_empty(), "and has no effects");
}

#[tokio::test]
async fn c48_each_start_of_a_container_is_told_with_the_same_ids() {
    let gpu = Fake::new(GPU, &["gpu-0", "gpu-1"]);
    gpu.want_starts();
    let short = |config: &mut devgate_device_plugin::FrontEndConfig| config.start_timeout = Duration::from_millis(300);
    let pair = Pair::with(&[&gpu], short, |_| {}).await;
    pair.kubelet.admit(&Pod::new("train", &[(GPU, 2)])).await.unwrap();
    assert_eq!(gpu.told(), []);
    for _ in 0..2 {
        pair.kubelet.start_container("train", "main").await.unwrap();
    }
    let start = ("started", vec!["gpu-0".to_owned(), "gpu-1".to_owned()]);
    assert_eq!(gpu.told(), [start.clone(), start]);
    gpu.fail(Some(AllocateError::Refused("gpu-1 is unhealthy: gone".to_owned())));
    let error = pair.kubelet.start_container("train", "main").await.unwrap_err();
    insta::assert_snapshot!(error, @"rpc error: code = FailedPrecondition desc = gpu-1 is unhealthy: gone");
    gpu.fail(None);
    gpu.close_gate();
    let error = pair.kubelet.start_container("train", "main").await.unwrap_err();
    insta::assert_snapshot!(error, @"rpc error: code = DeadlineExceeded desc = vendor.com/gpu: no answer within 300ms");
    gpu.open_gate();
    pair.kubelet.start_container("train", "main").await.unwrap();
    pair.host.stop().await.unwrap();
}
