//! One thread for the short work of all plugins that may block.
//!
//! Ticks of all plugins fall together. With a thread for each, every tick would wake as many threads as there are plugins, and
//! that costs more than what they do. So one thread does it all, one after the other, and as soon as something takes longer
//! than a moment, the rest goes on with another thread: no other call waits for a read that hangs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long work waits for what is before it.
const MOMENT: Duration = Duration::from_millis(5);
/// How late the host may notice that work has taken too long, as long as it runs itself.
const LATE: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce() + Send>;

/// Where work of all plugins goes. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Lane(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    /// Which thread takes the next job, if one does; those before it have something that takes long.
    thread: Option<u64>,
    /// When it took the job that it has; nothing as long as it has not begun.
    took: Option<Instant>,
    threads: u64,
}

/// How work ended that gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It panicked.
    Panicked,
    /// It has not returned yet.
    Hangs,
}

impl Lane {
    /// What `work` returns, if it does within `patience`. It goes on if it does not. Needs a tokio runtime.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let (begun, mut started) = oneshot::channel();
        let (answer, mut answered) = oneshot::channel();
        let job: Job = Box::new(move || {
            let _ = begun.send(());
            let _ = answer.send(work());
        });
        {
            let mut queue = self.queue();
            queue.waiting.push_back(job);
            if queue.thread.is_none() {
                self.start(&mut queue);
            }
        }
        let ended = |answer: Result<T, _>| answer.map_err(|_| Unanswered::Panicked);
        let end = tokio::time::Instant::now() + patience;
        // The call that takes its place in the thread may take long as well.
        while started.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
            let moment = (tokio::time::Instant::now() + MOMENT).min(end);
            if let Ok(answer) = tokio::time::timeout_at(moment, &mut answered).await {
                return ended(answer);
            }
            if moment == end {
                break;
            }
            self.go_on();
        }
        if let Ok(answer) = tokio::time::timeout_at(end, &mut answered).await {
            return ended(answer);
        }
        // A host that was stopped (a frozen virtual machine) wakes long after the end, and the work was stopped as well: it gets a
        // part of that time back.
        let again = end.elapsed().checked_sub(LATE).map(|late| late.min(patience));
        match tokio::time::timeout(again.unwrap_or_default(), answered).await {
            Ok(answer) => ended(answer),
            Err(_) => Err(Unanswered::Hangs),
        }
    }

    /// Starts another thread if something waits and what is before it takes long. One that has not begun yet is enough.
    fn go_on(&self) {
        let mut queue = self.queue();
        let hangs = queue.took.is_some_and(|took| took.elapsed() >= MOMENT);
        if !queue.waiting.is_empty() && (hangs || queue.thread.is_none()) {
            self.start(&mut queue);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a thread do all that waits.
    fn start(&self, queue: &mut Queue) {
        queue.threads += 1;
        let number = queue.threads;
        (queue.thread, queue.took) = (Some(number), None);
        let lane = self.clone();
        tokio::task::spawn_blocking(move || lane.work(number));
    }

    fn work(&self, number: u64) {
        loop {
            let mut queue = self.queue();
            if queue.thread != Some(number) {
                return;
            }
            let Some(job) = queue.waiting.pop_front() else {
                (queue.thread, queue.took) = (None, None);
                return;
            };
            queue.took = Some(Instant::now());
            drop(queue);
            // Its own end says that it panicked; the others' work is none the worse.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::ThreadId;

    const LONG: Duration = Duration::from_secs(30);

    async fn together(lane: &Lane, count: usize) -> Vec<ThreadId> {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..count {
            let lane = lane.clone();
            tasks.spawn(async move { lane.run(LONG, || std::thread::current().id()).await.unwrap() });
        }
        tasks.join_all().await
    }

    /// On a runtime of one thread, all that is due together is there before the first of it is begun, or soon after.
    #[tokio::test]
    async fn what_is_due_together_is_done_by_few_threads() {
        let lane = Lane::default();
        let mut threads = together(&lane, 64).await;
        threads.sort_by_key(|id| format!("{id:?}"));
        threads.dedup();
        assert!(threads.len() <= 8, "{threads:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nobody_waits_for_what_hangs() {
        let lane = Lane::default();
        let (release, held) = mpsc::channel::<()>();
        let hanging = {
            let lane = lane.clone();
            tokio::spawn(async move { lane.run(LONG, move || held.recv_timeout(LONG)).await })
        };
        tokio::task::yield_now().await;
        let others = together(&lane, 8).await;
        assert_eq!(others.len(), 8);
        assert!(!hanging.is_finished());
        release.send(()).unwrap();
        assert_eq!(hanging.await.unwrap(), Ok(Ok(())));
        assert_eq!(lane.run(LONG, || 7).await, Ok(7));
    }

    /// All of them wait behind the first, so that the thread that is started for one takes another, which hangs as well.
    #[tokio::test]
    async fn nobody_waits_for_any_number_that_hang() {
        let lane = Lane::default();
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let mut hanging = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let (lane, held) = (lane.clone(), Arc::clone(&held));
            // All wait for the lock, or for the one word that does not come.
            let hang = move || held.lock().is_ok_and(|held| held.recv_timeout(LONG).is_ok());
            hanging.spawn(async move { lane.run(LONG * 2, hang).await });
        }
        tokio::task::yield_now().await;
        assert_eq!(lane.run(LONG / 2, || 7).await, Ok(7));
        assert!(hanging.try_join_next().is_none());
        (0..16).for_each(|_| release.send(()).unwrap());
        assert_eq!(hanging.join_all().await, [Ok(true); 16]);
    }

    /// The runtime does nothing meanwhile, as in a process that is stopped.
    #[tokio::test]
    async fn what_was_stopped_with_the_host_does_not_hang() {
        let lane = Lane::default();
        let (release, held) = mpsc::channel::<()>();
        let patience = Duration::from_millis(100);
        let work = {
            let lane = lane.clone();
            tokio::spawn(async move { lane.run(patience, move || held.recv_timeout(LONG)).await })
        };
        tokio::time::sleep(patience / 5).await;
        std::thread::sleep(patience * 3);
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        release.send(()).unwrap();
        assert_eq!(work.await.unwrap(), Ok(Ok(())));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_hangs_or_panics_is_said_to() {
        let lane = Lane::default();
        let (release, held) = mpsc::channel::<()>();
        let hangs = lane
            .run(Duration::from_millis(20), move || held.recv_timeout(LONG))
            .await;
        assert_eq!(hangs, Err(Unanswered::Hangs));
        release.send(()).unwrap();
        let panics = lane.run(LONG, || panic!("as it was told to")).await;
        assert_eq!(panics, Err::<(), _>(Unanswered::Panicked));
        assert_eq!(lane.run(LONG, || 7).await, Ok(7));
    }
}
