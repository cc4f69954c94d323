use super::*;
use crate::name::{may_be_of, may_be_pods};
use crate::spec::is_device_name;
use devgate_core::Granted;
use proptest::prelude::*;
use std::sync::Arc;

const WORD: &str = "[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?";

fn tag(request: &str, share: Option<&str>) -> ClaimTag {
    ClaimTag {
        request: request.into(),
        pool: "node-1/a.b".into(),
        namespace: "team".into(),
        name: "claim.1".into(),
        share: share.map(str::to_owned),
    }
}

proptest! {
    #[test]
    fn a_tag_is_read_as_it_was_written(request in WORD, pool in WORD, name in WORD, share in prop::option::of(WORD)) {
        let written = ClaimTag { request, pool, namespace: "team".into(), name, share };
        prop_assert!(written.is_good());
        prop_assert_eq!(ClaimTag::read(&written.to_string()), Some(written));
    }

    #[test]
    fn any_text_is_a_tag_that_is_written_so_or_none(text in "[a-z ./|_]{0,40}|\\PC{0,40}") {
        if let Some(tag) = ClaimTag::read(&text) {
            prop_assert!(tag.is_good());
            prop_assert_eq!(tag.to_string(), text);
        }
    }

    #[test]
    fn a_device_of_a_claim_has_a_name_of_its_own_that_readers_take(
        one in ("[ab-]{1,3}", prop::option::of("[ab-]{1,3}"), "[aAb-]{1,3}"),
        other in ("[ab-]{1,3}", prop::option::of("[ab-]{1,3}"), "[aAb-]{1,3}"),
    ) {
        let name = |(request, share, id): &(String, Option<String>, String)| {
            let id_of = serde_json::from_value(7.into()).unwrap();
            claim_device("3f2c", Some(&tag(request, share.as_deref())), id_of, id)
        };
        prop_assert!(is_device_name(&name(&one)), "{}", name(&one));
        prop_assert_eq!(one == other, name(&one) == name(&other));
    }
}

#[test]
fn what_is_no_word_of_the_api_is_in_no_tag() {
    let long = "a".repeat(254);
    for odd in ["", "a b", "a\n", "a_b", "ä", long.as_str()] {
        assert!(!tag(odd, None).is_good(), "{odd}");
        assert!(!tag("gpu", Some(odd)).is_good(), "{odd}");
    }
    assert!(!tag("gpu/large", None).is_good() && !tag("gpu", Some("a/b")).is_good());
    assert!(["3f2c91aa-0b1c-4d2e-8f3a-5b6c7d8e9f00", "a"].into_iter().all(is_claim_uid));
    let long = "a".repeat(65);
    assert!(!["", "-a", "a-", "a/b", "..", "a_b", "a b", long.as_str()].into_iter().any(is_claim_uid));
}

#[test]
fn a_claims_file_says_of_which_allocation_it_is() {
    let who = Consumer::Claim { driver: "gpu.vendor.com".into(), uid: "3f2c".into() };
    let granted = Granted {
        id: serde_json::from_value(17.into()).unwrap(),
        tag: tag("gpu", None).to_string(),
        resource: ResourceName::try_new("vendor.com/gpu").unwrap(),
        ids: vec!["gpu0".into(), "gpu0::1".into()],
        reply: Arc::default(),
        left: None,
        told: true,
        earlier_boot: false,
    };
    let named = Named::new(who.clone(), granted);
    assert_eq!(named.file(), "devgate-gpu.vendor.com_claim=claim:17-3f2c.json");
    assert_eq!(named.devices, ["3f2c_gpu_gpu0", "3f2c_gpu_gpu0-r1"]);
    assert!(may_be_of(&named.file(), 17, &who.to_string()) && !may_be_of(&named.file(), 1, &who.to_string()));
    assert!(may_be_pods(&named.file()), "a pod may need it to start a container again");
    assert!(Claim::new(&named, &Reply::default()).devices[0].cdi.is_empty());
}
