//! When a run of a backend is to be warned about, compacted, or stopped: numbers in, decision out.
//!
//! # Theory of operation
//!
//! The [`LimitMonitor`] is told every event and, now and then, the time. It keeps four numbers: how long
//! the run takes, how long it has been silent, what it has cost (by its own word, else by the price of
//! its tokens), and how full its context is. Time
//! and money stop a run. Silence does too, but not while a tool call is open: a test suite may take
//! its time. What the program says about trying again is not a sign of life.
//!
//! The context has three tiers and a memory, so that a number that goes up and down at a threshold
//! does not repeat a decision:
//!
//! ```text
//!          warn            (compact - 5 %)  compact           kill
//! ----------|------------------|---------------|----------------|-----
//!   calm    | warned once      |               | asks to compact| stops
//!
//! after a compaction:
//!   worked  | goes on          | failed: stops
//! ```
//!
//! A warning comes again only after the context was 5 % below its threshold. After a compaction that
//! left the context between `warn` and 5 % below `compact`, the run goes on, and another compaction is
//! asked for only when `compact` is crossed again. One monitor may follow several runs of one
//! attempt ([`LimitMonitor::begin`]): a compaction is often a run of its own on the same session.
//!
//! Some programs say how much a model's context holds only with their last words. What was learned
//! so is kept by model ([`ContextWindows`]) and handed to the next monitor. Before that there is a table of
//! known models, so that their very first run is guarded too.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::backend::{BackendEvent, ContextFill, RunUsage, StopCause, TokenUsage, cost};
use crate::config::{self, TokenPrices};
use crate::windows::ContextWindows;

/// Distance that the context must fall below a threshold before the threshold counts again.
/// The distance is a share of the whole context.
const HYSTERESIS: f64 = 0.05;

/// Sums of decimal fractions are off by a hair, and a hair must not decide.
const HAIR: f64 = 1e-9;

/// Most open tool calls that are told apart; one is enough to be busy.
const MOST_OPEN: usize = 4096;

/// Limits of a backend run: time, silence, money and context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackendRunLimits {
    /// Maximum duration of one run. `None` means no limit.
    pub timeout: Option<Duration>,
    /// Maximum silence while no tool call is open. `None` means no limit.
    pub idle: Option<Duration>,
    /// Most dollars for all runs that the monitor follows.
    pub max_cost: Option<f64>,
    /// Share of the context that is worth a warning.
    pub context_warn: f64,
    /// Share of the context at which it is compacted.
    pub context_compact: f64,
    /// Share of the context at which the run is stopped.
    pub context_kill: f64,
    /// Size of the context in tokens, whatever a backend says.
    pub window: Option<u64>,
}

impl BackendRunLimits {
    /// The limits of the configuration, with the time that this kind of run may take.
    pub fn of(config: &config::LimitSettings, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            idle: Some(config.idle_timeout.get()),
            max_cost: config.max_cost.map(config::Dollars::get),
            context_warn: config.context_warn.get(),
            context_compact: config.context_compact.get(),
            context_kill: config.context_kill.get(),
            window: None,
        }
    }
}

/// Action that the monitor asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonitorAction {
    /// Put this line into the log and go on.
    Warn(String),
    /// Compact the context. Until that has happened, nothing more is asked for.
    Compact,
    /// End the run for this reason.
    Stop(StopCause),
}

/// Follows the runs of one attempt and decides.
#[derive(Clone, Debug)]
pub struct LimitMonitor {
    limits: BackendRunLimits,
    started: u64,
    heard: u64,
    open: BTreeSet<String>,
    earlier_cost: f64,
    cost: f64,
    prices: TokenPrices,
    /// The run at hand says itself what it costs.
    says_cost: bool,
    window: Option<u64>,
    windows: ContextWindows,
    model: Option<String>,
    share: f64,
    pressure: CompactionState,
    warned: bool,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CompactionState {
    /// No compaction is in progress.
    Calm,
    /// One was asked for when the context was this full.
    Asked { from: f64 },
    /// One has happened; the next number shows what it was good for.
    Done { from: f64 },
}

impl LimitMonitor {
    /// A monitor for one attempt. Its first run begins at 0 unless [`LimitMonitor::begin`] says otherwise.
    pub fn new(limits: BackendRunLimits) -> Self {
        Self::knowing(limits, ContextWindows::default())
    }

    /// A monitor that knows how much the context of some models holds.
    pub fn knowing(limits: BackendRunLimits, windows: ContextWindows) -> Self {
        Self {
            limits,
            started: 0,
            heard: 0,
            open: BTreeSet::new(),
            earlier_cost: 0.0,
            cost: 0.0,
            prices: TokenPrices::default(),
            says_cost: false,
            window: limits.window,
            windows,
            model: None,
            share: 0.0,
            pressure: CompactionState::Calm,
            warned: false,
            over: false,
        }
    }

    /// With what tokens cost, for a program that tells only their number.
    #[must_use]
    pub fn priced(mut self, prices: TokenPrices) -> Self {
        self.prices = prices;
        self
    }

    /// Another run of the attempt begins. What was spent and where the context stands is kept.
    pub fn begin(&mut self, now_ms: u64) {
        self.started = now_ms;
        self.heard = now_ms;
        self.open.clear();
        self.earlier_cost += std::mem::take(&mut self.cost);
        self.says_cost = false;
        self.over = false;
    }

    /// The next run begins with an empty context: what the last one held is gone.
    pub fn begin_empty(&mut self) {
        self.pressure = CompactionState::Calm;
        self.share = 0.0;
        self.warned = false;
    }

    /// The run that has just ended was a part of one stage: the time that it took is taken off that
    /// of the next.
    pub fn took(&mut self, time: Duration) {
        self.limits.timeout = self.limits.timeout.map(|left| left.saturating_sub(time));
    }

    /// The program said something that is no event.
    pub fn on_sign_of_life(&mut self, now_ms: u64) {
        self.heard = self.heard.max(now_ms);
    }

    /// Record an event of the program and return the actions that follow from it.
    pub fn on_event(&mut self, now_ms: u64, event: &BackendEvent) -> Vec<MonitorAction> {
        if !matches!(event, BackendEvent::Retry { .. } | BackendEvent::RateLimit(_)) {
            self.on_sign_of_life(now_ms);
        }
        self.learn(event);
        if self.over {
            return Vec::new();
        }
        let decision = match event {
            BackendEvent::ToolCall { id, .. } => {
                if self.open.len() < MOST_OPEN {
                    self.open.insert(id.clone());
                }
                None
            }
            BackendEvent::ToolResult { id, .. } => {
                self.open.remove(id);
                None
            }
            BackendEvent::Cost(money) => {
                self.cost = money.0;
                self.says_cost = true;
                self.over_budget()
            }
            BackendEvent::Usage(usage) if !self.says_cost => {
                self.cost = price(*usage, &self.prices).unwrap_or(self.cost);
                self.over_budget()
            }
            BackendEvent::Context(context) => self.on_context(*context),
            BackendEvent::Compacted { after, .. } => {
                self.pressure = CompactionState::Done { from: self.from() };
                let context = after.map(|used| ContextFill { used, window: None });
                context.and_then(|context| self.on_context(context))
            }
            BackendEvent::CompactionFailed(why) => match self.pressure {
                CompactionState::Asked { .. } => Some(MonitorAction::Stop(StopCause::ContextFull)),
                _ => Some(MonitorAction::Warn(format!("[RALPH] Context not compacted: {why}"))),
            },
            // Its end is not ours to decide any more.
            BackendEvent::Finished => {
                self.over = true;
                None
            }
            _ => None,
        };
        self.over |= matches!(decision, Some(MonitorAction::Stop(_)));
        decision.into_iter().collect()
    }

    /// Check the limits of time and silence at `now_ms`.
    pub fn on_tick(&mut self, now_ms: u64) -> Option<MonitorAction> {
        let since = |then: u64| Duration::from_millis(now_ms.saturating_sub(then));
        let is_over = |then: u64, limit: Option<Duration>| limit.is_some_and(|l| since(then) >= l);
        let stop = if self.over {
            return None;
        } else if is_over(self.started, self.limits.timeout) {
            StopCause::Timeout
        } else if self.open.is_empty() && is_over(self.heard, self.limits.idle) {
            StopCause::Idle
        } else {
            return None;
        };
        self.over = true;
        Some(MonitorAction::Stop(stop))
    }

    /// Return the dollars spent by all runs of the attempt.
    /// Runs without a reported cost or known prices count as 0.
    pub fn cost(&self) -> f64 {
        self.earlier_cost + self.cost
    }

    /// Return the known context sizes, including those learned during the runs.
    pub fn windows(&self) -> &ContextWindows {
        &self.windows
    }

    /// Record the model in use and the size of its context.
    fn learn(&mut self, event: &BackendEvent) {
        match event {
            BackendEvent::Started { model: Some(model), .. }
                if self.model.as_ref() != Some(model) =>
            {
                self.window = self.limits.window.or(self.windows.of(model));
                self.model = Some(model.clone());
            }
            BackendEvent::Context(ContextFill { window: Some(window), .. }) => {
                if let Some(model) = &self.model
                    && self.windows.of(model) != Some(*window)
                {
                    self.windows.tell(model, *window);
                }
            }
            _ => {}
        }
    }

    fn over_budget(&self) -> Option<MonitorAction> {
        let most = self.limits.max_cost?;
        // What is reached exactly refuses the next start; it does not end a run that may just finish.
        (self.cost() > most + HAIR).then_some(MonitorAction::Stop(StopCause::Budget))
    }

    fn on_context(&mut self, context: ContextFill) -> Option<MonitorAction> {
        self.window = self.limits.window.or(context.window).or(self.window);
        let window = self.window.filter(|window| *window > 0)?;
        let share = context.used as f64 / window as f64;
        self.share = share;
        let BackendRunLimits { context_warn, context_compact, context_kill, .. } = self.limits;
        if share >= context_kill {
            return Some(MonitorAction::Stop(StopCause::ContextFull));
        }
        match self.pressure {
            CompactionState::Done { from } => self.judge(from),
            // The rest of a turn that was under way still comes in; only less is news.
            CompactionState::Asked { from } if share < context_compact => self.judge(from),
            CompactionState::Asked { .. } => None,
            CompactionState::Calm if share >= context_compact => {
                self.pressure = CompactionState::Asked { from: share };
                self.warned = true;
                Some(MonitorAction::Compact)
            }
            CompactionState::Calm if share >= context_warn => {
                let warn = !std::mem::replace(&mut self.warned, true);
                warn.then(|| {
                    let percent = percent(share);
                    MonitorAction::Warn(format!(
                        "[RALPH] Context pressure: {percent}% - consider wrapping up"
                    ))
                })
            }
            CompactionState::Calm => {
                self.warned &= share >= context_warn - HYSTERESIS;
                None
            }
        }
    }

    /// Whether a compaction was good for something.
    fn judge(&mut self, from: f64) -> Option<MonitorAction> {
        if self.share > self.limits.context_compact - HYSTERESIS + HAIR {
            return Some(MonitorAction::Stop(StopCause::ContextFull));
        }
        self.pressure = CompactionState::Calm;
        self.warned = self.share >= self.limits.context_warn;
        let (from, to) = (percent(from), percent(self.share));
        Some(MonitorAction::Warn(format!("[RALPH] Context compacted: {from}% -> {to}%")))
    }

    fn from(&self) -> f64 {
        match self.pressure {
            CompactionState::Asked { from } | CompactionState::Done { from } => from,
            CompactionState::Calm => self.share,
        }
    }
}

/// Compute the cost of these tokens in dollars, or `None` if a price is missing.
fn price(usage: TokenUsage, prices: &TokenPrices) -> Option<f64> {
    let TokenUsage { input, cached, output } = usage;
    let (input, cached, output) = (Some(input), Some(cached), Some(output));
    cost(&RunUsage { input, cached, output, ..RunUsage::default() }, prices)
}

fn percent(share: f64) -> u64 {
    (share * 100.0 + HAIR) as u64
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
