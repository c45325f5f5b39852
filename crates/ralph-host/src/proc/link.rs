//! Ralph's end of the line to its supervisor.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::channel;
use super::mailbox::{JobMailbox, JobMessage};
use super::mark::WATCH_VARIABLE;
use super::supervise::{COMMAND, PATIENCE};
use super::wire::{SupervisorNotice, SupervisorRequest};

/// Error when the supervisor has gone.
#[derive(Debug)]
pub(super) struct SupervisorLost;

/// A running supervisor. Dropping it ends the supervisor and all that is below it.
#[derive(Debug)]
pub(super) struct SupervisorLink {
    control: Mutex<UnixStream>,
    mailboxes: Arc<JobMailboxes>,
    supervisor: Mutex<Child>,
    hung_up: Mutex<Receiver<()>>,
}

/// One mailbox a job; `None` when there will be no more mail.
type JobMailboxes = Mutex<Option<BTreeMap<u64, Arc<JobMailbox>>>>;

impl SupervisorLink {
    #[expect(clippy::disallowed_methods, reason = "this room is the one that spawns")]
    pub(super) fn start(program: &Path, run: &str, place: Option<&str>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program);
        command.arg0("ralph").arg(COMMAND).arg(run).current_dir("/");
        match place {
            Some(place) => command.env(WATCH_VARIABLE, format!("{place} {run}")),
            None => command.env_remove(WATCH_VARIABLE),
        };
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let supervisor = command.spawn()?;
        let mailboxes = Arc::new(Mutex::new(Some(BTreeMap::new())));
        let (over, hung_up) = channel();
        let (from, to) = (ours.try_clone()?, mailboxes.clone());
        Builder::new().name("ralph-link".into()).spawn(move || deliver(&from, &to, over))?;
        Ok(Self {
            control: Mutex::new(ours),
            mailboxes,
            supervisor: Mutex::new(supervisor),
            hung_up: Mutex::new(hung_up),
        })
    }

    /// Whether it can still be asked for something.
    pub(super) fn is_up(&self) -> bool {
        lock(&self.mailboxes).is_some()
    }

    /// Let the news of a job go to this mailbox.
    pub(super) fn register(
        &self,
        job: u64,
        mailbox: &Arc<JobMailbox>,
    ) -> Result<(), SupervisorLost> {
        lock(&self.mailboxes).as_mut().ok_or(SupervisorLost)?.insert(job, mailbox.clone());
        Ok(())
    }

    /// No more news of this job.
    pub(super) fn forget(&self, job: u64) {
        if let Some(mailboxes) = lock(&self.mailboxes).as_mut() {
            mailboxes.remove(&job);
        }
    }

    pub(super) fn ask(
        &self,
        ask: &SupervisorRequest,
        files: &[OwnedFd],
    ) -> Result<(), SupervisorLost> {
        let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        channel::send(&lock(&self.control), &ask.encode(), &files).map_err(|_| SupervisorLost)
    }

    /// Give up on a supervisor that does not answer. What was below it is then found by its mark.
    pub(super) fn abandon(&self) {
        let mut supervisor = lock(&self.supervisor);
        let _gone = supervisor.kill().and_then(|()| supervisor.wait());
    }
}

impl Drop for SupervisorLink {
    fn drop(&mut self) {
        let _gone = lock(&self.control).shutdown(Shutdown::Write);
        // The supervisor hears this, kills all that is left, and exits, which closes the line.
        if lock(&self.hung_up).recv_timeout(PATIENCE + Duration::from_secs(5)).is_err() {
            self.abandon();
        }
        let _gone = lock(&self.supervisor).wait();
    }
}

/// Bring every message to the mailbox of its job, until the supervisor hangs up.
fn deliver(from: &UnixStream, to: &JobMailboxes, over: Sender<()>) {
    while let Ok(Some(frame)) = channel::receive(from) {
        let Some(told) = SupervisorNotice::decode(&frame.body) else { break };
        let mailboxes = lock(to);
        if let Some(mailbox) = mailboxes.as_ref().and_then(|m| m.get(&told.job())) {
            mailbox.news(JobMessage::Told(told));
        }
    }
    for mailbox in lock(to).take().into_iter().flatten().map(|(_, mailbox)| mailbox) {
        mailbox.news(JobMessage::Lost);
    }
    let _nobody_waits = over.send(());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
