use super::*;
use crate::inventory::DriverOffers;
use crate::inventory::tests::{Fixed, NAME};
use devgate_core::offer::{DeviceList, Facts};
use devgate_types as found;

const START: Duration = Duration::from_secs(0);

/// Two devices, of which one is as it is said.
fn inventory(unhealthy: Option<&str>, evicts: bool, facts: Facts) -> Inventory {
    let facts = Facts { is_faulty: unhealthy.is_some_and(|why| why != "not asked"), ..facts };
    let device = |id: &str| offer::Device { id: id.into(), facts: Some(Arc::default()), ..offer::Device::default() };
    let a = offer::Device { unhealthy: unhealthy.map(Into::into), facts: Some(Arc::new(facts)), ..device("a") };
    let offers: DriverOffers = [Fixed::offer(DeviceList { devices: vec![a, device("b")] }, evicts)].into();
    Inventory::of(NAME, &offers)
}

fn healthy(is: bool) -> Inventory {
    inventory((!is).then_some("broken"), false, Facts::default())
}

/// The seconds at which something is published, looked at each tenth of a second, for so many.
fn published_at(seconds: u64, at: impl Fn(u64) -> Inventory) -> Vec<f64> {
    let (begin, mut lists, mut all) = (Instant::now(), Lists::new(), Vec::new());
    for tenth in 0..seconds * 10 {
        let since = START + Duration::from_millis(100 * tenth);
        if lists.next(&at(tenth), &|_| true, begin + since).published.is_some() {
            all.push(since.as_secs_f64());
        }
    }
    all
}

#[test]
fn a_fault_goes_out_at_once_and_then_at_most_one_list_a_second() {
    // A fault, then another thing of the same device.
    let at = |tenth| match tenth {
        0..20 => healthy(true),
        20..22 => healthy(false),
        22.. => inventory(Some("broken"), true, Facts::default()),
    };
    assert_eq!(published_at(10, at), [0.0, 2.0, 3.0]);
}

#[test]
fn what_only_says_more_waits_ten_seconds() {
    let hot = |tenth: u64| Facts { capacity: [("heat".to_owned(), tenth)].into(), ..Facts::default() };
    assert_eq!(published_at(35, |tenth| inventory(None, false, hot(tenth))), [0.0, 10.0, 20.0, 30.0]);
    // A fault does not wait for it, and takes it along.
    let at = |tenth| inventory((tenth >= 30).then_some("broken"), false, hot(tenth));
    assert_eq!(published_at(20, at), [0.0, 3.0, 13.0]);
}

#[test]
fn dra37_what_flaps_costs_two_lists_a_minute_in_the_end() {
    let lease = |is: bool| Facts { held: is.then(|| "lease job".into()), ..Facts::default() };
    let ways: [&dyn Fn(bool) -> Inventory; 2] = [&healthy, &|is| inventory(None, false, lease(!is))];
    for flaps in ways {
        let late: Vec<_> =
            published_at(1_800, |tenth| flaps(tenth % 30 < 20)).into_iter().filter(|at| *at > 600.0).collect();
        assert!(late.len() <= 41, "{late:?}");
        assert!(late.len() >= 10, "it is of use in between: {late:?}");
    }
}

#[test]
fn one_lease_alone_is_seen_at_once_and_so_is_its_end() {
    let held = |tenth| (20..50).contains(&tenth).then(|| "lease job".into());
    let at = |tenth| inventory(None, false, Facts { held: held(tenth), ..Facts::default() });
    assert_eq!(published_at(10, at), [0.0, 2.0, 5.0]);
}

#[test]
fn taints_say_what_keeps_pods_away() {
    let facts = |held: Option<&str>| Facts {
        attributes: [
            ("devgate.dev/numaNode".to_owned(), offer::Value::Int(1)),
            ("model".to_owned(), offer::Value::Text("A1".into())),
            ("driver".to_owned(), offer::Value::Version("1.2.3".into())),
            ("ecc".to_owned(), offer::Value::Bool(true)),
        ]
        .into(),
        capacity: [("memory".to_owned(), 1 << 34)].into(),
        held: held.map(Into::into),
        ..Facts::default()
    };
    let of = |unhealthy, evicts, held| {
        let now = inventory(unhealthy, evicts, facts(held));
        Lists::new().next(&now, &|_| true, Instant::now()).published.unwrap().devices[0].clone()
    };
    let taints =
        |device: &Device| device.taints.iter().map(|taint| (taint.key.clone(), taint.effect)).collect::<Vec<_>>();
    let (unhealthy, held) = ("devgate.dev/unhealthy".to_owned(), "devgate.dev/held".to_owned());
    assert_eq!(taints(&of(None, true, None)), []);
    assert_eq!(taints(&of(Some("hot"), false, None)), [(unhealthy.clone(), Effect::NoSchedule)]);
    let both = of(Some("hot"), true, Some("lease job"));
    assert_eq!(taints(&both), [(unhealthy.clone(), Effect::NoExecute), (held, Effect::NoSchedule)]);
    // What is not the device's own fault ends no pod.
    assert_eq!(taints(&of(Some("not asked"), true, None)), [(unhealthy, Effect::NoSchedule)]);
    assert_eq!(both.attributes["devgate.dev/numaNode"], Value::Int(1));
    assert_eq!(both.attributes["model"], Value::String("A1".into()));
    assert_eq!(both.attributes["driver"], Value::Version("1.2.3".into()));
    assert_eq!(both.attributes["ecc"], Value::Bool(true));
    assert_eq!(both.capacity["memory"], 1 << 34);
}

fn conditions(all: &[(&str, found::Effect)]) -> Inventory {
    let condition = |(key, effect): &(&str, found::Effect)| found::Condition {
        key: (*key).to_owned(),
        effect: *effect,
        message: "as it is".into(),
    };
    let conditions = all.iter().map(condition).collect();
    inventory(None, false, Facts { conditions, ..Facts::default() })
}

#[test]
fn dra37_conditions_that_flap_cost_two_lists_a_minute_in_the_end_however_many_they_are() {
    use found::Effect::{Evict, NoNew};
    // Each other look another key, and another effect of the same.
    let at = |tenth: u64| match tenth / 10 % 3 {
        0 => conditions(&[]),
        1 => conditions(&[("worn", NoNew), ("hot", Evict)]),
        _ => conditions(&[("worn", Evict)]),
    };
    let late: Vec<_> = published_at(1_800, at).into_iter().filter(|at| *at > 600.0).collect();
    // Each of the three comes and goes by itself.
    assert!(late.len() <= 3 * 41, "{}: {late:?}", late.len());
    // What only says more in words, or informs, is not published.
    let at = |tenth: u64| conditions(if tenth.is_multiple_of(2) { &[("worn", found::Effect::Inform)] } else { &[] });
    assert_eq!(published_at(60, at), [0.0]);
}

#[test]
fn a_condition_is_seen_at_once_with_its_strongest_effect_and_the_strongest_are_told() {
    use found::Effect::{Evict, Inform, NoNew};
    let taints = |all: &[(&str, found::Effect)]| {
        let published = Lists::new().next(&conditions(all), &|_| true, Instant::now()).published.unwrap();
        let taints = published.devices[0].taints.iter();
        taints.map(|taint| format!("{}:{:?}", taint.key, taint.effect)).collect::<Vec<_>>()
    };
    assert_eq!(taints(&[("a", Inform), ("b", NoNew)]), ["gpu.vendor.com/b:NoSchedule"]);
    let five = [("a", NoNew), ("b", NoNew), ("c", NoNew), ("d", NoNew), ("e", Evict)];
    let (first, rest) = ("gpu.vendor.com/e:NoExecute", ["a", "b", "c"]);
    let rest = rest.map(|key| format!("gpu.vendor.com/{key}:NoSchedule"));
    assert_eq!(taints(&five), [&[first.to_owned()][..], &rest].concat());
}

#[test]
fn dra37_ten_thousand_devices_are_told_in_one_line_in_bounded_time() {
    let facts = Arc::new(Facts {
        attributes: (0..5)
            .map(|n| (format!("attribute{n}"), offer::Value::Text("a text of some words".into())))
            .collect(),
        capacity: [("memory".to_owned(), 1 << 36)].into(),
        ..Facts::default()
    });
    let device = |n: usize| offer::Device {
        id: format!("0000:{n:05x}.0"),
        unhealthy: Some("too hot".into()),
        facts: Some(Arc::clone(&facts)),
        ..offer::Device::default()
    };
    let begun = std::time::Instant::now();
    let offers: DriverOffers = [Fixed::offer(DeviceList { devices: (0..10_000).map(device).collect() }, false)].into();
    let now = Inventory::of(NAME, &offers);
    let devices = Lists::new().next(&now, &|_| true, Instant::now()).published.unwrap().devices.clone();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(devices.len(), 10_000);
    let line = serde_json::to_vec(&devices_message(&devices)).unwrap();
    assert!(line.len() < devgate_agent_protocol::MAX_LINE, "{}", line.len());
}

fn devices_message(devices: &[Device]) -> devgate_agent_protocol::ToAgent {
    devgate_agent_protocol::ToAgent::Publish {
        driver: "gpu.vendor.com".into(),
        devices: devices.to_vec(),
        counters: [].into(),
    }
}
