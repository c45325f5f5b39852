//! Queue of everything that happens to a job, so that one thread can handle it in turn.
//!
//! Output waits in a bounded queue. When the job writes faster than ralph reads, its pipe fills and
//! the job waits. News never waits behind output and never blocks its sender.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::wire::SupervisorNotice;

/// Most bytes of output that wait, give or take one piece.
const MOST_WAITING: usize = 1 << 20;

/// One of a job's two streams of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobStream {
    Out,
    Err,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum JobMessage {
    Piece(JobStream, Vec<u8>),
    End(JobStream),
    Told(SupervisorNotice),
    /// Supervisor that has gone.
    Lost,
}

#[derive(Debug, Default)]
pub(super) struct JobMailbox {
    queues: Mutex<JobMessageQueues>,
    filled: Condvar,
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct JobMessageQueues {
    news: VecDeque<JobMessage>,
    output: VecDeque<JobMessage>,
    waiting: usize,
    closed: bool,
}

/// Nobody reads this mailbox any more.
#[derive(Debug)]
pub(super) struct JobMailboxClosed;

impl JobMailbox {
    /// News goes to the front and never waits.
    pub(super) fn news(&self, mail: JobMessage) {
        self.lock().news.push_back(mail);
        self.filled.notify_one();
    }

    /// Put output into the queue. Wait while the queue is full.
    pub(super) fn output(&self, mail: JobMessage) -> Result<(), JobMailboxClosed> {
        let mut queues = self.lock();
        while queues.waiting >= MOST_WAITING && !queues.closed {
            queues = self.emptied.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
        if queues.closed {
            return Err(JobMailboxClosed);
        }
        queues.waiting += size(&mail);
        queues.output.push_back(mail);
        self.filled.notify_one();
        Ok(())
    }

    /// The next mail; `None` when there is none until then.
    pub(super) fn next(&self, until: Instant) -> Option<JobMessage> {
        let mut queues = self.lock();
        loop {
            if let Some(mail) = queues.news.pop_front() {
                return Some(mail);
            }
            if let Some(mail) = queues.output.pop_front() {
                queues.waiting -= size(&mail);
                self.emptied.notify_all();
                return Some(mail);
            }
            let patience = until.checked_duration_since(Instant::now())?;
            let waited = self.filled.wait_timeout(queues, patience);
            queues = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let queues = self.lock();
        queues.news.is_empty() && queues.output.is_empty()
    }

    /// Let everybody go who waits to bring output.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.emptied.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, JobMessageQueues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Return the size of a mail in the queue. Each mail counts some bytes for itself, so that many small
/// pieces also fill the queue.
fn size(mail: &JobMessage) -> usize {
    let bytes = if let JobMessage::Piece(_, bytes) = mail { bytes.len() } else { 0 };
    bytes + 64
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn piece(length: usize) -> JobMessage {
        JobMessage::Piece(JobStream::Out, vec![0; length])
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn news_overtakes_output_and_output_keeps_its_order() {
        let mailbox = JobMailbox::default();
        mailbox.output(piece(1)).unwrap();
        mailbox.output(JobMessage::End(JobStream::Out)).unwrap();
        mailbox.news(JobMessage::Lost);
        assert_eq!(mailbox.next(soon()), Some(JobMessage::Lost));
        assert_eq!(mailbox.next(soon()), Some(piece(1)));
        assert_eq!(mailbox.next(soon()), Some(JobMessage::End(JobStream::Out)));
        assert_eq!(mailbox.next(Instant::now()), None);
    }

    #[test]
    fn output_waits_for_room_and_a_closed_mailbox_lets_it_go() {
        let mailbox = JobMailbox::default();
        let brought = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let bringing = scope.spawn(|| {
                while mailbox.output(piece(MOST_WAITING)).is_ok() {
                    brought.fetch_add(1, Ordering::SeqCst);
                }
            });
            for _ in 0..5 {
                assert_eq!(mailbox.next(soon()), Some(piece(MOST_WAITING)));
            }
            mailbox.close();
            bringing.join().unwrap();
        });
        assert!((5..=6).contains(&brought.load(Ordering::SeqCst)));
    }
}
