//! The component against its policy and recorded node, as a host would run it.

use crate::{RESOURCE, Widget};
use devgate_testing::Rig;

const POLICY: &str = include_str!("../../policy.yaml");
const NODE: &str = include_str!("../../nodes/widgets.umockdev");

fn rig(policy: &str) -> Rig {
    Rig::of::<Widget>(policy, "widgets", NODE)
}

#[test]
fn widgets_are_offered_with_what_their_driver_says() {
    let mut rig = rig(POLICY);
    let survey = rig.survey();
    let widget = survey.unit("W-1003");
    assert_eq!(widget.nodes, ["/dev/widget2 rw"]);
    assert!(widget.is_healthy() && survey.rejected.is_empty() && survey.denied.is_empty());

    let reply = rig.allocate(RESOURCE, &["W-1003"]).unwrap();
    assert_eq!(reply.env.get("WIDGET_MODE").map(String::as_str), Some("safe"));
}

#[test]
fn health_is_what_the_status_says() {
    let mut rig = rig(POLICY);
    rig.survey();
    rig.set("widget/widget0", "status", "overheated\n");
    let survey = rig.survey();
    assert_eq!(survey.unit("W-1001").unhealthy.as_deref(), Some("status reads overheated"));
    assert!(survey.unit("W-1002").is_healthy());
}

#[test]
fn a_wrong_mode_is_told() {
    let mut rig = rig(&POLICY.replace("mode: safe", "mode: slow"));
    let why = rig.try_survey().unwrap_err();
    assert!(why.ends_with("config: mode is neither fast nor safe"), "{why}");
}
