//! What of a write or a refusal is counted and audited.

use super::*;

#[test]
fn what_is_not_written_is_counted_as_such() {
    let world = World::new();
    let policy = plugin_policy(&policy_of(POLICY));
    let grants = Arc::new(Grants::new(world.node.clone().into(), policy));
    let mut host = host_with(Arc::clone(&grants), Arc::new(PluginServices::none(&grants.policy, None)));
    host.kind = CallKind::Release;
    let gpu = world.device("0000:00:02.0");
    host.lends(&id("gpu"), std::slice::from_ref(&gpu));
    let target = host.hold_device(gpu);
    for path in ["vendor", "vendor", "nothing"] {
        host.control_write(target, path, "1").unwrap_err();
    }
    let noted = grants.recorder.status(crate::status::When::now()).refused;
    assert_eq!(noted, BTreeMap::from([(RefusalKind::Control, 3)]), "what the kernel refuses, too");
}

/// The audit log's lines, as their few words.
#[derive(Default)]
struct Audited(Mutex<Vec<String>>);

struct Words(String);

impl tracing::field::Visit for Words {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if matches!(field.name(), "family" | "attribute" | "outcome" | "written" | "left_out") {
            let _ = write!(self.0, "{}={value:?} ", field.name());
        }
    }
}

impl tracing::Subscriber for Audited {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "audit"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut words = Words(String::new());
        event.record(&mut words);
        self.0.lock().unwrap().push(words.0.trim_end().to_owned());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// A line before a write, as it may never come back, and one after it; of what is refused again and again, one.
#[test]
fn the_audit_log_has_each_write_and_each_refusal_once() {
    let world = World::new();
    let mut host = world.host();
    host.kind = CallKind::Release;
    let gpu = world.device("0000:00:02.0");
    host.lends(&id("gpu"), std::slice::from_ref(&gpu));
    let target = host.hold_device(gpu);
    let audited = Arc::new(Audited::default());
    tracing::subscriber::with_default(Arc::clone(&audited), || {
        for path in ["vendor", "vendor", "vendor", "reset", "nothing", "vendor", "device"] {
            let _ = host.control_write(target, path, "1");
        }
    });
    insta::assert_snapshot!(audited.0.lock().unwrap().join("\n"), @r#"
    family="refused" attribute="vendor" written=false left_out=0
    attribute="reset" outcome="begins"
    attribute="reset" outcome="written" written=true
    attribute="nothing" outcome="begins"
    attribute="nothing" outcome="failed" written=false
    family="refused" attribute="device" written=false left_out=3
    "#);
}
