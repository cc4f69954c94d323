use super::*;
use std::sync::mpsc;

const LONG: Duration = Duration::from_secs(30);

fn overdue(computes: Duration, hang: usize) -> Overdue {
    Overdue::new(Bounds { computes, hang }, Failures::default())
}

async fn too_much(overdue: &Overdue) -> String {
    overdue.0.failures.next().await.to_string()
}

/// Does `work` on a thread of its own, which is given up on at once, and waits until it has begun.
fn abandoned(overdue: &Overdue, recorder: &Arc<StatusRecorder>, work: impl FnOnce() + Send + 'static) -> Arc<Call> {
    abandoned_of(Whose::Component, overdue, recorder, work)
}

fn abandoned_of(
    whose: Whose,
    overdue: &Overdue,
    recorder: &Arc<StatusRecorder>,
    work: impl FnOnce() + Send + 'static,
) -> Arc<Call> {
    let call = Arc::new(Call::of(whose));
    let waiter = overdue.wait_for(&call, "acme", recorder, Instant::now());
    let (begun, begins) = (Arc::clone(&call), mpsc::channel());
    std::thread::spawn(move || {
        let _here = begun.begin();
        let _ = begins.0.send(());
        work();
    });
    begins.1.recv_timeout(LONG).unwrap();
    drop(waiter);
    call
}

/// How many calls the host gave up on, and how many of them have not returned.
fn given_up(recorder: &Arc<StatusRecorder>) -> (u64, u64) {
    let status = recorder.status(crate::status::When::now());
    (status.given_up, status.hanging)
}

fn compute() {
    let end = Instant::now() + LONG;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

async fn until(what: impl Fn() -> bool) {
    let waits = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, waits).await.unwrap();
}

#[tokio::test]
async fn a_call_that_computes_after_it_was_given_up_on_is_too_much() {
    let (overdue, recorder) = (overdue(Duration::from_millis(200), 32), Arc::default());
    let call = abandoned(&overdue, &recorder, compute);
    let why = tokio::time::timeout(LONG, too_much(&overdue)).await.unwrap();
    assert!(why.starts_with("plugin acme: a call was given up on "), "{why}");
    assert_eq!(given_up(&recorder), (1, 1));
    until(|| call.doing() == Doing::Computes).await;
}

/// It ends by itself: a host that ended instead would begin it anew after each start.
#[tokio::test]
async fn the_hosts_own_look_that_computes_late_ends_nothing() {
    let (overdue, recorder) = (overdue(Duration::from_millis(50), 32), Arc::default());
    let (end, ended) = (Arc::new(AtomicBool::new(false)), Duration::from_millis(200));
    let stop = Arc::clone(&end);
    let call = abandoned_of(Whose::Host, &overdue, &recorder, move || {
        while !stop.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    });
    until(|| call.used() > ended).await;
    let much = tokio::time::timeout(LOOK * 3, too_much(&overdue)).await;
    end.store(true, Ordering::Release);
    assert!(much.is_err(), "{much:?}");
    until(|| given_up(&recorder) == (1, 0)).await;
}

#[tokio::test]
async fn a_call_that_waits_is_counted_until_it_returns_and_ends_nothing() {
    let (overdue, recorder) = (overdue(Duration::from_millis(20), 32), Arc::default());
    let (release, held) = mpsc::channel::<()>();
    let call = abandoned(&overdue, &recorder, move || _ = held.recv_timeout(LONG));
    until(|| given_up(&recorder) == (1, 1) && call.doing() == Doing::Waits).await;
    let much = tokio::time::timeout(LOOK * 3, too_much(&overdue)).await;
    assert!(much.is_err(), "{much:?}");
    release.send(()).unwrap();
    until(|| given_up(&recorder) == (1, 0)).await;
}

#[tokio::test]
async fn more_that_hang_than_there_may_be_are_too_much_whosever_they_are() {
    let overdue = overdue(LONG, 2);
    let recorders: [Arc<StatusRecorder>; 3] = [Arc::default(), Arc::default(), Arc::default()];
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    for recorder in &recorders {
        let held = Arc::clone(&held);
        abandoned(&overdue, recorder, move || _ = held.lock().unwrap().recv_timeout(LONG));
    }
    let why = tokio::time::timeout(LONG, too_much(&overdue)).await.unwrap();
    assert_eq!(
        why,
        "plugin acme: a call has not returned, nor have 2 others of all plugins"
    );
    (0..3).for_each(|_| release.send(()).unwrap());
    for recorder in &recorders {
        until(|| given_up(recorder) == (1, 0)).await;
    }
}

/// Nine plugins whose selectors read one attribute that hangs, with all calls that each may have.
#[tokio::test]
async fn honest_plugins_that_wait_for_the_same_read_end_nothing() {
    let (overdue, recorder) = (Overdue::new(Bounds::default(), Failures::default()), Arc::default());
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    for _ in 0..36 {
        let held = Arc::clone(&held);
        abandoned(&overdue, &recorder, move || _ = held.lock().unwrap().recv_timeout(LONG));
    }
    until(|| given_up(&recorder) == (36, 36)).await;
    let much = tokio::time::timeout(LOOK * 2, too_much(&overdue)).await;
    (0..36).for_each(|_| release.send(()).unwrap());
    assert!(much.is_err(), "{much:?}");
    until(|| given_up(&recorder) == (36, 0)).await;
}

#[tokio::test]
async fn what_has_not_begun_takes_no_thread_and_ends_nothing() {
    let (overdue, recorder) = (overdue(LONG, 0), Arc::default());
    let call = Arc::new(Call::default());
    drop(overdue.wait_for(&call, "acme", &recorder, Instant::now()));
    until(|| given_up(&recorder) == (1, 1)).await;
    let much = tokio::time::timeout(LOOK * 2, too_much(&overdue)).await;
    assert!(much.is_err(), "{much:?}");
    // It counts from when it begins, as late as that is.
    let here = call.begin();
    tokio::time::timeout(LONG, too_much(&overdue)).await.unwrap();
    drop(here);
    until(|| given_up(&recorder) == (1, 0)).await;
}

#[tokio::test]
async fn what_ended_in_time_is_not_given_up_on_whoever_went_away() {
    let (overdue, recorder) = (overdue(Duration::ZERO, 0), Arc::default());
    let call = Arc::new(Call::default());
    drop(call.begin());
    drop(overdue.wait_for(&call, "acme", &recorder, Instant::now()));
    // Who asked went away; the call is not late yet, and ends before it is.
    let call = Arc::new(Call::default());
    let here = call.begin();
    drop(overdue.wait_for(&call, "acme", &recorder, Instant::now() + Duration::from_millis(50)));
    drop(here);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(given_up(&recorder), (0, 0));
    assert_eq!(Call::default().doing(), Doing::HasNotBegun);
}

#[test]
fn the_kernels_line_is_read_whatever_a_thread_is_called() {
    let line = "7 (a) R 1 (b) S 1 2 3 4 5 6 7 8 9 10 250 30 0 0 20 0 5\n";
    let look = Look::of(line);
    let used = Duration::from_millis(2_800);
    assert_eq!(look, Some(Look { computes: false, used }));
    assert_eq!(Look::of("7 (x) R 1 2"), None);
    assert_eq!(Look::of(""), None);
}
