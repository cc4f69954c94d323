use super::*;
use crate::when::When;
use std::sync::mpsc;

const LONG: Duration = Duration::from_secs(30);

fn begin<T: Send + 'static>(
    recorder: &Arc<StatusRecorder>,
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> UnderWay<T> {
    UnderWay {
        task: Some(tokio::task::spawn_blocking(work)),
        end: Instant::now() + patience,
        recorder: Arc::clone(recorder),
    }
}

/// How many calls were given up on, and how many of them have not returned, once it is so.
async fn counted(recorder: &StatusRecorder, wanted: (u64, u64)) {
    let counted = || {
        let status = recorder.status(When::now());
        (status.given_up, status.hanging)
    };
    let wait = async {
        while counted() != wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(LONG, wait).await;
    waited.unwrap_or_else(|_| panic!("{:?}", counted()));
}

#[tokio::test]
async fn a_call_whose_caller_has_gone_hangs_from_its_end_until_it_returns() {
    let recorder = Arc::default();
    let (release, held) = mpsc::channel::<()>();
    drop(begin(&recorder, Duration::from_millis(20), move || held.recv()));
    counted(&recorder, (1, 1)).await;
    release.send(()).unwrap();
    counted(&recorder, (1, 0)).await;
    // One that returns before its end is none.
    let (release, held) = mpsc::channel::<()>();
    drop(begin(&recorder, Duration::from_millis(50), move || held.recv()));
    release.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(80)).await;
    counted(&recorder, (1, 0)).await;
}

/// The runtime does nothing meanwhile, as in a process that is stopped: until long after the call's end, or just after it.
#[tokio::test]
async fn a_call_that_was_stopped_with_the_host_does_not_hang() {
    let patience = Duration::from_millis(100);
    for stopped in [patience * 3, patience * 9 / 10] {
        let recorder = Arc::default();
        let (release, held) = mpsc::channel::<()>();
        let mut call = begin(&recorder, patience, move || held.recv_timeout(LONG));
        let result = tokio::spawn(async move { call.result(patience).await.map(Result::unwrap) });
        tokio::time::sleep(patience / 5).await;
        std::thread::sleep(stopped);
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        release.send(()).unwrap();
        assert_eq!(result.await.unwrap(), Some(Ok(())), "{stopped:?}");
        counted(&recorder, (0, 0)).await;
    }
}

#[tokio::test]
async fn a_call_that_panics_is_said_to() {
    let recorder = Arc::default();
    let mut call = begin(&recorder, LONG, || panic!("as it was told to"));
    let result: Option<Result<(), _>> = call.result(LONG).await;
    assert_eq!(result.unwrap().unwrap_err().to_string(), "host fault: a call panicked");
}
