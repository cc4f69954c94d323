use super::*;

const PAUSE: Duration = Duration::from_millis(500);

fn list(devices: &[(&str, bool)]) -> Arc<DeviceList> {
    let device = |(id, healthy): &(&str, bool)| Device {
        id: (*id).to_owned(),
        unhealthy: (!healthy).then(|| "broken".into()),
        ..Device::default()
    };
    Arc::new(DeviceList { devices: devices.iter().map(device).collect() })
}

/// What is shown of the device `a`, which is healthy or not at each tenth of a second; and the times, in tenths, at which
/// another list is shown. Time is simulated, so that nothing here depends on the machine.
fn lists(tenths: u32, is_healthy: impl Fn(u32) -> bool) -> Vec<(u32, bool)> {
    let (start, mut flaps) = (Instant::now(), Flaps::new(PAUSE));
    let mut shown: Vec<(u32, bool)> = Vec::new();
    for tenth in 0..tenths {
        let healthy = is_healthy(tenth);
        let now = start + Duration::from_millis(100) * tenth;
        let Shown { list, until, hidden } = flaps.show(&list(&[("a", healthy), ("b", true)]), now);
        let a = list.devices[0].unhealthy.is_none();
        assert_eq!(until.is_some_and(|until| until > now), healthy && !a, "at {tenth}");
        let told: Vec<_> = until.into_iter().map(|until| ("a".to_owned(), until)).collect();
        assert_eq!(hidden, told, "at {tenth}");
        assert!(healthy || !a, "a dead device is shown healthy at {tenth}");
        assert!(list.devices[1].unhealthy.is_none(), "another device pays for it at {tenth}");
        if shown.last().is_none_or(|(_, before)| *before != a) {
            shown.push((tenth, a));
        }
    }
    shown
}

#[test]
fn the_first_recovery_is_believed_at_once() {
    let seen = lists(100, |tenth| !(20..40).contains(&tenth));
    assert_eq!(seen, [(0, true), (20, false), (40, true)]);
}

#[test]
fn each_further_one_has_to_last_twice_as_long() {
    // Broken for a second, then healthy for 9 s.
    let seen = lists(600, |tenth| tenth % 100 >= 10);
    let recoveries: Vec<_> = seen.iter().filter(|(_, healthy)| *healthy).map(|(tenth, _)| tenth % 100).collect();
    // At once, after 1, 2, 4 and 8 s; then it is never healthy for as long as it would have to be.
    assert_eq!(recoveries, [10, 10, 20, 30, 50, 90]);
}

#[test]
fn what_fails_for_a_moment_all_the_time_is_shown_healthy_every_30_s() {
    // Broken for a second, then healthy for 9 s.
    let seen = lists(1_600, |tenth| tenth % 100 >= 10);
    let late: Vec<_> = seen.into_iter().filter(|(tenth, _)| *tenth >= 600).collect();
    let (down, up) = (|tenth| (tenth, false), |tenth| (tenth, true));
    // Broken at the moment when it may be shown again: a second later.
    assert_eq!(late, [down(600), up(910), down(1_000), up(1_310), down(1_400)]);
}

#[test]
fn what_flaps_costs_four_lists_a_minute_in_the_end_and_is_of_use_however_it_does_it() {
    for (period, broken) in [(2, 1), (10, 3), (37, 5), (150, 1), (320, 10), (590, 1), (605, 5)] {
        let seen = lists(36_000, |tenth| tenth % period >= broken);
        let late = seen.iter().filter(|(tenth, _)| *tenth >= 18_000).count();
        // Half an hour. It is hidden for 30 s at most, or as long as it is broken then, and shown until it breaks again.
        assert!(late <= 122, "{late} lists with {broken} of {period}");
        let least = usize::try_from(2 * 18_000 / (300 + broken + period)).unwrap() - 2;
        assert!(late >= least, "{late} lists with {broken} of {period}");
        for hidden in seen.windows(2).filter(|pair| !pair[0].1) {
            let long = hidden[1].0 - hidden[0].0;
            assert!(long <= 300 + broken, "hidden for {long} with {broken} of {period}");
        }
    }
}

#[test]
fn calm_is_forgotten() {
    let (start, mut flaps) = (Instant::now(), Flaps::new(PAUSE));
    let mut at = 0;
    let mut show = |healthy, seconds: u64| {
        at += seconds;
        let shown = flaps.show(&list(&[("a", healthy)]), start + Duration::from_secs(at));
        (shown.list.devices[0].unhealthy.is_none(), flaps.flaps.known())
    };
    show(true, 0);
    for _ in 0..8 {
        show(false, 1);
        show(true, 1);
        show(true, 59);
    }
    assert_eq!(show(true, 61), (true, 0), "nothing is kept of it");
    assert!(!show(false, 1).0);
    assert!(show(true, 1).0, "as if it were the first time");
}

#[test]
fn what_is_not_listed_at_all_flaps_as_well() {
    let (start, mut flaps) = (Instant::now(), Flaps::new(PAUSE));
    let mut show = |devices: &[(&str, bool)], seconds: u64| {
        let shown = flaps.show(&list(devices), start + Duration::from_secs(seconds));
        let all = shown.list.devices.iter().map(|device| device.unhealthy.is_none());
        (all.collect::<Vec<_>>(), shown.until.map(|until| (until - start).as_secs()))
    };
    assert_eq!(show(&[("a", true)], 0), (vec![true], None));
    assert_eq!(show(&[], 1), (vec![], None), "gone at once");
    assert_eq!(show(&[("a", true)], 2), (vec![true], None));
    assert_eq!(show(&[], 3), (vec![], None));
    assert_eq!(show(&[("a", true), ("new", true)], 4), (vec![false, true], Some(5)));
    assert_eq!(show(&[("a", true), ("new", true)], 5), (vec![true, true], None));
}
