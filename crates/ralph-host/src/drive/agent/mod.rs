//! The agent: specs from the inbox, one after another, a commit each.
//!
//! # Theory of operation
//!
//! ```text
//! agent:  open → recover → (fetch → construct → commit | keep aside)* → finish
//! ```
//!
//! Three files say where it stands: the inbox (which spec is active, done or failed), the session file
//! (which entry was worked on, and the numbers), and the spec's ref in git (its work, until the commit).
//! Each step is written so that doing it again changes nothing, so a start after a crash looks at the
//! three and goes on: an entry that is done and whose work is still on its ref gets its commit, one
//! that failed has its work kept aside, one that is active or pending is continued. A spec that failed
//! leaves nothing on the tip and nothing in the plan, which says about it what it said before.

mod branch;
mod discard;
mod finish;
mod inbox;

use jiff::Timestamp;
use ralph_core::agent_session::AgentSession;
use ralph_core::config::Dollars;
use ralph_core::construct::ConstructEnd;
use ralph_core::cycle::{JournalRecord, LoopEnd, LoopSignal, Remark, RunCommand, exit_code};
use ralph_core::inbox::{InboxChange, InboxEntry, InboxStatus};
use ralph_core::needs::Need;
use ralph_core::notify::{ProjectEvent, ProjectEventKind};
use ralph_core::words::count;

pub(super) use self::discard::has_begun;
pub use self::discard::{discard_spec, is_begun};
use super::construct::ConstructGoal;
use super::error::{DriveError, LoopHalt};
use super::listener::LoopListener;
use super::session::{RunSession, RunSetup};
use super::spec_landing::SpecTipCheck;
use super::specs::spec_keeper;
use crate::notify::Notifier;
use crate::store::{Durability, drop_view, put_view};

/// Limits and options of `ralph agent` beside the configuration.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Stop after this many specs; `None` for no limit.
    pub max_specs: Option<u32>,
    /// Stop after so many failures in a row.
    pub max_failures: u32,
    /// Wait for new specs instead of stopping at an empty inbox.
    pub watch: bool,
    /// Most agents at once in a stage.
    pub jobs: Option<usize>,
}

/// Reason why `ralph agent` ended, which decides its exit code.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEnd {
    /// Inbox without any spec left.
    Empty,
    /// So many specs were worked on.
    MaxSpecs(u32),
    MaxCost {
        /// Limit in dollars.
        limit: f64,
        /// Dollars that were spent.
        spent: f64,
    },
    /// So many specs failed in a row.
    MaxFailures(u32),
    Interrupted(LoopSignal),
    /// Nothing would go better with the next spec, or a person has to decide.
    Halted(LoopEnd),
}

impl AgentEnd {
    /// Describe the reason in a sentence.
    pub fn reason(&self) -> String {
        match self {
            Self::Empty => "Inbox empty. Agent stopping.".into(),
            Self::MaxSpecs(n) => format!("Max specs ({n}) reached. Agent stopping."),
            Self::MaxCost { limit, spent } => {
                format!("Max cost (${limit:.2}) reached, ${spent:.2} spent. Agent stopping.")
            }
            Self::MaxFailures(n) => {
                let specs = count(usize::try_from(*n).unwrap_or(usize::MAX), "spec");
                format!("{specs} failed in a row (max failures). Agent stopping.")
            }
            Self::Interrupted(LoopSignal::Interrupt) => "Interrupted. Agent stopping.".into(),
            Self::Interrupted(LoopSignal::Terminate) => "Terminated. Agent stopping.".into(),
            Self::Halted(end) => format!("{}. Agent stopping.", end.reason().trim_end_matches('.')),
        }
    }

    /// The exit code, with so many specs that failed in the session or are still pending.
    fn exit_code(&self, failed: u32, pending: usize) -> u8 {
        match self {
            Self::Interrupted(signal) => exit_code(&LoopEnd::Interrupted(*signal)),
            Self::Halted(end) => exit_code(end),
            _ if failed > 0 => 3,
            Self::Empty => 0,
            _ if pending == 0 => 0,
            _ => 4,
        }
    }

    /// Whether the next start is to go on with this session.
    fn keeps_session(&self) -> bool {
        matches!(self, Self::Interrupted(_) | Self::Halted(_))
    }
}

/// Work through the inbox. Returns the exit code.
pub fn agent(
    mut setup: RunSetup,
    options: &AgentOptions,
    listener: &mut dyn LoopListener,
) -> Result<u8, DriveError> {
    let runner = super::runner(&mut setup);
    let mut session = RunSession::open(setup, RunCommand::Agent, &runner, listener)?;
    let last_run_ended = session.history.last_at.clone().unwrap_or_default();
    let halt = session.recover()?;
    if options.watch || session.waiting_specs()? > 0 {
        session.preflight()?;
    }
    let goes_on = session.project.agent_session().exists();
    let mut state = session.read_session()?;
    if goes_on {
        state.unknown_runs_before = state.cost(&session.history).unknown_runs;
    }
    session.start(state.spent(&session.history))?;
    let notifier = Notifier::of(&session.config, session.project.root());
    let options = options.clone();
    let mut agent = AgentLoop { options, state, notifier, last_run_ended, halt };
    session.log_agent("Agent started");
    session.save(&mut agent)?;
    let end = session.work_through(&mut agent)?;
    session.end_agent(&mut agent, end)
}

/// State of a running `ralph agent`.
struct AgentLoop {
    options: AgentOptions,
    state: AgentSession,
    notifier: Notifier,
    /// When the last run wrote its last record, RFC 3339.
    last_run_ended: String,
    /// End of the run that the recovery of an interrupted attempt decided.
    halt: Option<LoopEnd>,
}

impl RunSession<'_> {
    fn work_through(&mut self, agent: &mut AgentLoop) -> Result<AgentEnd, DriveError> {
        self.settle_last(agent)?;
        let mut idle = false;
        loop {
            LoopHalt::end_of(self.apply_operator_commands())?;
            if let Some(end) = self.agent_limit(agent) {
                return Ok(end);
            }
            let Some(entry) = self.fetch(agent)? else {
                if !agent.options.watch {
                    return Ok(AgentEnd::Empty);
                }
                if !std::mem::replace(&mut idle, true) {
                    self.log_line("Inbox empty. Waiting for specs: `ralph inbox add SPEC`");
                }
                self.wait_for_specs()?;
                continue;
            };
            idle = false;
            if let Some(end) = self.run_next_spec(agent, &entry)? {
                return Ok(end);
            }
        }
    }

    /// Return the reason to stop before the next spec, if there is one.
    fn agent_limit(&self, agent: &AgentLoop) -> Option<AgentEnd> {
        if let Some(signal) = self.signals.first() {
            return Some(AgentEnd::Interrupted(signal));
        }
        if self.mailbox.stop_asked() {
            return Some(AgentEnd::Halted(LoopEnd::Stopped));
        }
        let done = agent.state.specs_completed;
        if let Some(most) = agent.options.max_specs.filter(|most| done >= *most) {
            return Some(AgentEnd::MaxSpecs(most));
        }
        if agent.state.consecutive_failures >= agent.options.max_failures {
            return Some(AgentEnd::MaxFailures(agent.state.consecutive_failures));
        }
        self.cost_limit()
    }

    fn cost_limit(&self) -> Option<AgentEnd> {
        let limit = self.config.limits.max_cost.map(Dollars::get)?;
        let spent = self.history.cost;
        (spent >= limit).then_some(AgentEnd::MaxCost { limit, spent })
    }

    /// One spec from its queue to its commit. What ends the agent is told.
    fn run_next_spec(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
    ) -> Result<Option<AgentEnd>, DriveError> {
        self.log_line(&format!("FETCH: {} {}", entry.id, entry.spec));
        let goal = match self.goal_of(agent, entry)? {
            Ok(goal) => goal,
            Err(why) => {
                self.fail_spec(agent, entry, &why)?;
                return Ok(None);
            }
        };
        self.enter_spec_branch(agent, entry)?;
        let end = self.run_construct(&goal, agent.halt.take())?;
        self.save(agent)?;
        self.after_construct(agent, entry, &end)
    }

    fn after_construct(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
        end: &ConstructEnd,
    ) -> Result<Option<AgentEnd>, DriveError> {
        // Whatever a backend without money left undone is not the spec's fault.
        if let Some(broke) = self.cost_limit().filter(|_| end.end != LoopEnd::Complete) {
            self.change_inbox(&entry.id, &InboxChange::Pending)?;
            return Ok(Some(broke));
        }
        match &end.end {
            LoopEnd::Complete => {
                self.log_agent("CONSTRUCT: complete");
                match self.fit_spec_to_tip(&Self::keeper_of(entry))? {
                    SpecTipCheck::Proven => self.complete_spec(agent, entry)?,
                    SpecTipCheck::Broken(why) => self.fail_spec(agent, entry, &why)?,
                    SpecTipCheck::Stopped => {
                        self.change_inbox(&entry.id, &InboxChange::Pending)?;
                        let signal = self.signals.first().unwrap_or(LoopSignal::Interrupt);
                        return Ok(Some(AgentEnd::Interrupted(signal)));
                    }
                }
                Ok(None)
            }
            LoopEnd::Blocked { .. }
            | LoopEnd::MaxIterations(_)
            | LoopEnd::Breaker(_)
            | LoopEnd::NoPlan { .. } => {
                let mut why = end.reason();
                if let Some(first) = end.left.first() {
                    why = format!("{why}: {first}");
                }
                self.log_agent(&format!("CONSTRUCT: {why}"));
                self.fail_spec(agent, entry, &why)?;
                Ok(None)
            }
            other => {
                self.change_inbox(&entry.id, &InboxChange::Pending)?;
                let (spec, why) = (Some(entry.spec.clone()), end.reason());
                match other {
                    LoopEnd::Paused { .. }
                    | LoopEnd::Backend { .. }
                    | LoopEnd::NotVerified { .. } => {
                        self.notify(agent, ProjectEventKind::NeedsPerson { spec, why });
                    }
                    LoopEnd::MaxCost { .. } | LoopEnd::UsageLimit { .. } => {
                        self.notify(agent, ProjectEventKind::LimitReached { spec, why });
                    }
                    _ => {}
                }
                let ended = match other {
                    LoopEnd::Interrupted(signal) => AgentEnd::Interrupted(*signal),
                    LoopEnd::MaxCost { limit, spent } => {
                        AgentEnd::MaxCost { limit: *limit, spent: *spent }
                    }
                    end => AgentEnd::Halted(end.clone()),
                };
                Ok(Some(ended))
            }
        }
    }

    /// A spec that an earlier start left half way between its verdict and its end.
    fn settle_last(&mut self, agent: &mut AgentLoop) -> Result<(), DriveError> {
        let Some(id) = agent.state.current_spec_id.clone() else { return Ok(()) };
        let Some(entry) = self.inbox_entry(&id)? else {
            agent.state.current_spec_id = None;
            return self.save(agent);
        };
        match entry.status {
            InboxStatus::Done => self.settle_done(agent, &entry),
            InboxStatus::Failed => {
                let why = entry.error.clone().unwrap_or_default();
                self.fail_spec(agent, &entry, &why)
            }
            // It is the next one to be fetched.
            InboxStatus::Pending | InboxStatus::Active => Ok(()),
        }
    }

    fn end_agent(&mut self, agent: &mut AgentLoop, end: AgentEnd) -> Result<u8, DriveError> {
        if let Some(id) = agent.state.current_spec_id.clone()
            && self.inbox_entry(&id)?.is_some_and(|entry| entry.status == InboxStatus::Active)
        {
            // A killed agent left it so, and this one did not come to it.
            self.change_inbox(&id, &InboxChange::Pending)?;
        }
        let pending = self.pending_specs()?;
        let of_loop = match &end {
            AgentEnd::Empty => LoopEnd::Complete,
            AgentEnd::Interrupted(signal) => LoopEnd::Interrupted(*signal),
            AgentEnd::Halted(end) => end.clone(),
            AgentEnd::MaxCost { limit, spent } => LoopEnd::MaxCost { limit: *limit, spent: *spent },
            AgentEnd::MaxSpecs(_) | AgentEnd::MaxFailures(_) => LoopEnd::Stopped,
        };
        let reason = end.reason();
        self.log_line(&reason);
        self.save(agent)?;
        let summary = self.session_words(&agent.state);
        self.log_line(&format!("Session summary: {summary}"));
        let code = end.exit_code(agent.state.specs_failed, pending);
        let ended = self.finish(&of_loop, &reason, Some(code))?;
        self.notify_stopped(agent, &reason, ended.needs);
        if !end.keeps_session() {
            drop_view(&self.project.agent_session())?;
        }
        if ended.reason != reason {
            self.log_line(&ended.reason);
        }
        Ok(ended.exit_code)
    }

    /// Tell whoever wants to hear of it. Nobody who cannot be told stops the work.
    fn notify(&mut self, agent: &AgentLoop, what: ProjectEventKind) {
        if self.config.notify.is_empty() {
            return;
        }
        let root = self.project.root();
        let project =
            root.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let happening = ProjectEvent { project, at: self.clock.stamp(), what };
        for problem in agent.notifier.tell(self.runner, &happening) {
            self.warn(&problem);
        }
    }

    fn notify_stopped(&mut self, agent: &AgentLoop, why: &str, needs: Vec<Need>) {
        let state = &agent.state;
        let began: Option<Timestamp> = state.started_at.parse().ok();
        let took = began.map_or(0, |at| self.clock.now().duration_since(at).as_millis());
        let what = ProjectEventKind::Stopped {
            why: why.to_owned(),
            needs,
            done: state.specs_completed.into(),
            failed: state.specs_failed.into(),
            cost: (!self.history.cost_unknown || state.total_cost > 0.0)
                .then_some(state.total_cost),
            took_ms: u64::try_from(took).unwrap_or(0),
        };
        self.notify(agent, what);
    }

    fn save(&mut self, agent: &mut AgentLoop) -> Result<(), DriveError> {
        agent.state.total_cost = self.history.cost;
        let text = serde_json::to_string_pretty(&agent.state).unwrap_or_default() + "\n";
        Ok(put_view(&self.project.agent_session(), text.as_bytes())?)
    }

    /// The session of an agent that was interrupted, or a new one.
    fn read_session(&mut self) -> Result<AgentSession, DriveError> {
        let path = self.project.agent_session();
        let bytes = crate::store::read(&path)?;
        let known = bytes.as_deref().map(serde_json::from_slice::<AgentSession>);
        match known {
            Some(Ok(session)) => {
                self.recovered("going on with the agent's last session")?;
                Ok(session)
            }
            other => {
                if other.is_some() {
                    self.warn("ralph/.agent-session cannot be read; a new session begins");
                }
                Ok(AgentSession { started_at: self.clock.stamp(), ..AgentSession::default() })
            }
        }
    }

    /// A line for people and for the agent's log.
    pub(super) fn log_line(&mut self, text: &str) {
        self.log_agent(text);
        let _unwritten =
            self.record(JournalRecord::AgentStep(Remark::new(text)), Durability::Eventual);
    }

    /// Describe the session in a few words, for example `3 specs, $2.45, 1h 23m`.
    fn session_words(&self, state: &AgentSession) -> String {
        let began: Option<Timestamp> = state.started_at.parse().ok();
        let seconds = began.map_or(0, |at| self.clock.now().duration_since(at).as_secs());
        let specs = state.specs_completed;
        let s = if specs == 1 { "" } else { "s" };
        let failed = match state.specs_failed {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        let cost = state.cost(&self.history).in_list();
        format!("{specs} spec{s}{failed}, {cost}, {}", duration(seconds))
    }

    /// The keeper of an entry's work.
    fn keeper_of(entry: &InboxEntry) -> String {
        spec_keeper(&entry.spec)
    }

    /// Return the goal for a spec, with its text from when it was taken from the inbox.
    fn goal_of(
        &mut self,
        agent: &mut AgentLoop,
        entry: &InboxEntry,
    ) -> Result<Result<ConstructGoal, String>, DriveError> {
        let (file, text) = match self.spec_copy(entry)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let (spec, jobs) = (entry.spec.clone(), agent.options.jobs);
        Ok(Ok(ConstructGoal { spec, file, text, jobs }))
    }
}

/// Format a number of seconds, for example `15m 32s`.
pub(super) fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s}s"),
        (h, m, _) => format!("{h}h {m}m"),
    }
}
