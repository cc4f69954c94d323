//! A mutex that no panic poisons.

use std::fmt;
use std::sync::{MutexGuard, PoisonError, TryLockError};

/// A mutex whose content is whole whenever it is not held: a thread that panics while it holds it takes it from no other.
#[derive(Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Around `content`.
    pub const fn new(content: T) -> Self {
        Self(std::sync::Mutex::new(content))
    }

    /// Waits until no other thread has it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another thread has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_takes_it_from_nobody_else() {
        let mutex = Mutex::new(1);
        std::thread::scope(|scope| {
            let broken = scope.spawn(|| {
                let mut held = mutex.lock();
                *held = 2;
                panic!("while it is held");
            });
            assert!(broken.join().is_err());
        });
        assert_eq!(*mutex.lock(), 2);
    }
}
