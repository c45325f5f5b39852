//! Threads for short pieces of work: waiting for the disk, reading a pipe.
//!
//! # Theory of operation
//!
//! Starting a thread takes longer than many a piece of work, and a task has a dozen of them. So a
//! thread that is done waits for the next piece, unless enough of them wait already. There is no limit
//! to how many work at once: a piece never waits for another one's end. A piece that panics takes
//! nobody with it; whoever waits for it is told that there is no answer.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// Most threads that wait for work.
const MOST_IDLE: usize = 8;

type PoolJob = Box<dyn FnOnce() + Send>;

/// Senders to the idle threads: a piece of work sent here wakes one of them.
static IDLE: Mutex<Vec<Sender<PoolJob>>> = Mutex::new(Vec::new());

/// A piece of work that has begun. Dropping it lets the work go on alone.
#[derive(Debug)]
pub(crate) struct PoolJobHandle<T>(Receiver<T>);

impl<T> PoolJobHandle<T> {
    /// Wait for its end; `None` when it panicked.
    pub(crate) fn wait(self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// Begin a piece of work beside this one.
pub(crate) fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<PoolJobHandle<T>> {
    let (done, begun) = channel();
    let mut piece: PoolJob = Box::new(move || {
        // A panic drops `done`, and that is the answer. Nothing of the work is looked at afterwards.
        if let Ok(answer) = catch_unwind(AssertUnwindSafe(work)) {
            let _nobody_waits = done.send(answer);
        }
    });
    loop {
        // The lock is not held while the thread is woken.
        let Some(idle) = idle().pop() else { break };
        match idle.send(piece) {
            Ok(()) => return Ok(PoolJobHandle(begun)),
            Err(unsent) => piece = unsent.0,
        }
    }
    Builder::new().name("ralph-crew".into()).spawn(move || serve(piece))?;
    Ok(PoolJobHandle(begun))
}

fn serve(first: PoolJob) {
    let (next, inbox) = channel();
    first();
    loop {
        {
            let mut idle = idle();
            if idle.len() >= MOST_IDLE {
                return;
            }
            idle.push(next.clone());
        }
        let Ok(piece) = inbox.recv() else { return };
        piece();
    }
}

fn idle() -> MutexGuard<'static, Vec<Sender<PoolJob>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn pieces_answer_whoever_waits_and_a_panic_is_no_answer() {
        for round in 0..100 {
            assert_eq!(begin(move || round * 2).unwrap().wait(), Some(round * 2));
            assert_eq!(begin(|| -> u8 { panic!("on purpose") }).unwrap().wait(), None);
        }
    }

    #[test]
    fn no_piece_waits_for_another_and_few_threads_stay() {
        let all = Arc::new(Barrier::new(3 * MOST_IDLE));
        let wait = |all: Arc<Barrier>| begin(move || all.wait().is_leader()).unwrap();
        let begun: Vec<_> = (0..3 * MOST_IDLE).map(|_| wait(all.clone())).collect();
        let leaders =
            begun.into_iter().filter_map(PoolJobHandle::wait).filter(|leads| *leads).count();
        assert_eq!(leaders, 1);
        assert!(idle().len() <= MOST_IDLE);
    }
}
