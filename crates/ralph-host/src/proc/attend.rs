//! One job from its start to the end of its last process.
//!
//! # Theory of operation
//!
//! Everything that happens comes through one mailbox and is taken in turn by the thread that called
//! `run`: pieces of output, news from the supervisor, and, when neither comes, the passing of time.
//! That thread alone decides. A job is over when its program has exited, its last process is gone,
//! and its pipes are empty. The pipes do not decide: a process that keeps one open is ended like
//! every other one that the program left behind.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ralph_core::backend::{BackendExit, ProcessEnding, StopCause};

use super::error::ProcError;
use super::job::{CancelUrgency, FinishedJob, Job, JobWatch, WatchDecision};
use super::lines::{JobOutputLine, LineSplitter};
use super::link::{SupervisorLink, SupervisorLost};
use super::mailbox::{JobMailbox, JobMessage, JobStream};
use super::mark::kill_job;
use super::pump::PipePumps;
use super::supervise::PATIENCE;
use super::tail::OutputTail;
use super::tee::LogTee;
use super::wire::{SpawnRequest, SupervisorNotice, SupervisorRequest, SweepCounts};

/// Time between two checks of the watch and the limits.
const TICK: Duration = Duration::from_millis(50);

/// Longest time that silent pipes may stay open after every process of the job is gone. Then only a
/// process that ralph cannot end can hold them.
const DRAIN: Duration = Duration::from_secs(2);

/// The same for pipes that something still comes from.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// Extra time that the supervisor gets to answer, beyond the time that it needs.
const SLACK: Duration = Duration::from_secs(20);

pub(super) struct JobAttendant<'a> {
    link: Arc<SupervisorLink>,
    run: &'a str,
    job: &'a Job,
    watch: &'a mut dyn JobWatch,
    spawn: SpawnRequest,
    mailbox: Arc<JobMailbox>,
    pumps: PipePumps,
    tee: Arc<Mutex<LogTee>>,
    lines: LineSplitter,
    tail: OutputTail,
    stdout_bytes: u64,
    longest_cut: u64,
    started: Instant,
    last_output: Instant,
    last_tick: Instant,
    /// When the watch said that the program is finished.
    finished: Option<Instant>,
    stopped: Option<StopCause>,
    /// Urgency of the end that was asked for so far.
    urgency: CancelUrgency,
    /// The program was asked in its own words to stop, and may take until then.
    asked_until: Option<Instant>,
    ending: Option<ProcessEnding>,
    gone: Option<(Instant, SweepCounts)>,
    /// When the supervisor must have told that all is over.
    overdue: Option<Instant>,
}

impl<'a> JobAttendant<'a> {
    /// Ask for the start of the job.
    pub(super) fn start(
        link: Arc<SupervisorLink>,
        run: &'a str,
        job: &'a Job,
        watch: &'a mut dyn JobWatch,
        spawn: SpawnRequest,
        tee: LogTee,
    ) -> Result<Self, ProcError> {
        let mailbox = Arc::new(JobMailbox::default());
        let tee = Arc::new(Mutex::new(tee));
        let (pumps, ends) = PipePumps::start(job, &mailbox, &tee).map_err(ProcError::Pipes)?;
        let now = Instant::now();
        let attend = Self {
            link,
            run,
            job,
            watch,
            spawn,
            mailbox,
            pumps,
            tee,
            lines: LineSplitter::new(job.bounds.line),
            tail: OutputTail::default(),
            stdout_bytes: 0,
            longest_cut: 0,
            started: now,
            last_output: now,
            last_tick: now,
            finished: None,
            stopped: None,
            urgency: CancelUrgency::None,
            asked_until: None,
            ending: None,
            gone: None,
            overdue: None,
        };
        let link = &attend.link;
        let asked = link
            .register(attend.spawn.job, &attend.mailbox)
            .and_then(|()| link.ask(&SupervisorRequest::Spawn(attend.spawn.clone()), &ends));
        asked.map_err(|SupervisorLost| attend.lost())?;
        Ok(attend)
    }

    /// Serve the job until its last process is gone and its pipes are empty.
    pub(super) fn until_the_end(mut self) -> Result<FinishedJob, ProcError> {
        self.watch.started();
        loop {
            let now = Instant::now();
            self.check(now)?;
            match self.mailbox.next(now + TICK) {
                Some(JobMessage::Piece(stream, piece)) => self.piece(stream, &piece),
                Some(JobMessage::End(stream)) => self.pumps.streams.retain(|open| *open != stream),
                Some(JobMessage::Told(told)) => self.told(told)?,
                Some(JobMessage::Lost) => return Err(self.lost()),
                None => {}
            }
            if let Some((at, sweep)) = self.gone
                && self.is_drained(at)
            {
                return Ok(self.finish(at, sweep));
            }
        }
    }

    fn told(&mut self, told: SupervisorNotice) -> Result<(), ProcError> {
        match told {
            SupervisorNotice::NotStarted { errno, .. } => {
                self.gone = Some((Instant::now(), SweepCounts::default()));
                let source = std::io::Error::from_raw_os_error(errno);
                return Err(ProcError::Start { program: self.spawn.program.clone(), source });
            }
            SupervisorNotice::Exited { ending, .. } => {
                self.ending = Some(ending);
                self.asked_until = None;
                let most = self.spawn.settle + self.spawn.grace + PATIENCE + SLACK;
                self.overdue = Some(Instant::now() + most);
            }
            SupervisorNotice::Gone { sweep, .. } => self.gone = Some((Instant::now(), sweep)),
        }
        Ok(())
    }

    fn piece(&mut self, stream: JobStream, piece: &[u8]) {
        self.last_output = Instant::now();
        match stream {
            JobStream::Out => {
                self.stdout_bytes += piece.len() as u64;
                if self.watch.took(piece) {
                    return;
                }
                let wanted = self.with_lines(|lines, on_line| lines.feed(piece, on_line));
                self.obey(wanted);
            }
            JobStream::Err => self.tail.push(piece),
        }
    }

    /// Let the watch see the lines that `cut` makes. The first wish to stop counts.
    fn with_lines(
        &mut self,
        cut: impl FnOnce(&mut LineSplitter, &mut dyn FnMut(JobOutputLine<'_>)),
    ) -> WatchDecision {
        let (watch, input, longest) = (&mut self.watch, &self.pumps.input, &mut self.longest_cut);
        let mut wanted = WatchDecision::Continue;
        let mut on_line = |line: JobOutputLine<'_>| {
            if line.cut > 0 {
                *longest = (*longest).max(line.cut + line.bytes.len() as u64);
            }
            let step = watch.line(line, input);
            if !matches!(wanted, WatchDecision::Stop(_)) && step != WatchDecision::Continue {
                wanted = step;
            }
        };
        cut(&mut self.lines, &mut on_line);
        wanted
    }

    /// Look at the limits, and at whoever wants an end.
    fn check(&mut self, now: Instant) -> Result<(), ProcError> {
        if self.gone.is_some() {
            return Ok(());
        }
        let urgency = self.job.cancel.urgency();
        if urgency == CancelUrgency::Now && self.urgency < urgency {
            self.urgency = urgency;
            if self.ending.is_none() {
                self.stopped.get_or_insert(StopCause::Cancelled);
            }
            self.end(Duration::ZERO);
        } else if self.asked_until.is_some_and(|until| now >= until) {
            self.end(self.spawn.grace);
        } else if self.ending.is_none() && self.stopped.is_none() {
            if let Some(stop) = self.reason_to_stop(now, urgency) {
                self.obey(WatchDecision::Stop(stop));
            } else if now >= self.last_tick + TICK {
                self.last_tick = now;
                let wanted = self.watch.tick(now - self.started);
                self.obey(wanted);
            }
        }
        match self.overdue {
            Some(at) if now >= at => Err(self.lost()),
            _ => Ok(()),
        }
    }

    fn reason_to_stop(&self, now: Instant, urgency: CancelUrgency) -> Option<StopCause> {
        let bounds = &self.job.bounds;
        let is_over = |since: Instant, limit: Option<Duration>| {
            limit.is_some_and(|limit| now.duration_since(since) >= limit)
        };
        if urgency != CancelUrgency::None {
            return Some(StopCause::Cancelled);
        }
        if let Some(finished) = self.finished {
            return is_over(finished, Some(bounds.linger)).then_some(StopCause::Lingered);
        }
        if is_over(self.started, bounds.timeout) {
            return Some(StopCause::Timeout);
        }
        (is_over(self.last_output, bounds.idle) && !self.watch.is_busy()).then_some(StopCause::Idle)
    }

    fn obey(&mut self, wanted: WatchDecision) {
        match wanted {
            WatchDecision::Continue => {}
            WatchDecision::Finished => _ = self.finished.get_or_insert_with(Instant::now),
            WatchDecision::Stop(stop) if self.stopped.is_none() => {
                self.stopped = Some(stop);
                // What it wrote decides, whether ralph or its exit was the quicker one. Then there
                // is nobody left to ask, and the supervisor is at it already.
                if self.ending.is_some() {
                    return;
                }
                match self.watch.stopping(stop, &self.pumps.input).min(self.spawn.grace) {
                    Duration::ZERO => self.end(self.spawn.grace),
                    patience => self.asked_until = Some(Instant::now() + patience),
                }
            }
            WatchDecision::Stop(_) => {}
        }
    }

    /// Let the supervisor end all of the job.
    fn end(&mut self, grace: Duration) {
        self.asked_until = None;
        // If the supervisor is gone, the mailbox says so.
        let _lost = self.link.ask(&SupervisorRequest::End { job: self.spawn.job, grace }, &[]);
        self.overdue = Some(Instant::now() + grace + PATIENCE + SLACK);
    }

    /// Whether there is no more output to come.
    fn is_drained(&self, gone_at: Instant) -> bool {
        if self.pumps.streams.is_empty() {
            return true;
        }
        let silent = self.last_output.max(gone_at).elapsed();
        let late = silent >= DRAIN || gone_at.elapsed() >= LONGEST_DRAIN;
        if late {
            self.mailbox.close();
        }
        late && self.mailbox.is_empty()
    }

    fn finish(mut self, at: Instant, sweep: SweepCounts) -> FinishedJob {
        // What the watch wants now comes too late to matter.
        let _too_late = self.with_lines(|lines, on_line| lines.finish(on_line));
        self.mailbox.close();
        self.pumps.stop();
        let log_error = self.tee.lock().unwrap_or_else(PoisonError::into_inner).finish();
        FinishedJob {
            exit: BackendExit {
                ending: self.ending.unwrap_or(ProcessEnding::Code(-1)),
                stopped: self.stopped,
            },
            stderr_bytes: self.tail.seen(),
            stderr_tail: std::mem::take(&mut self.tail).into_text(),
            stdout_bytes: self.stdout_bytes,
            longest_cut: self.longest_cut,
            sweep,
            log_error,
            elapsed: at - self.started,
        }
    }

    /// Without a supervisor nobody but us can end what it has left.
    fn lost(&self) -> ProcError {
        self.link.abandon();
        let _ended = kill_job(self.run, self.spawn.job);
        ProcError::Lost
    }
}

impl Drop for JobAttendant<'_> {
    /// Also when the watch panicked: the job does not outlive the call.
    fn drop(&mut self) {
        if self.gone.is_none() {
            let _lost = self
                .link
                .ask(&SupervisorRequest::End { job: self.spawn.job, grace: Duration::ZERO }, &[]);
        }
        self.link.forget(self.spawn.job);
        self.mailbox.close();
        self.pumps.stop();
    }
}
