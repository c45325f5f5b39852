//! The journal, read once for everybody: history, timeline and numbered events.
//!
//! An event's number is its place among all events of the journal, so that it is the same for every
//! server that reads this journal. Whoever streams events asks for those after a number; nobody has a
//! queue of their own, so that a slow client costs nothing but its connection. The newest events, which
//! everybody asks for, are in memory; all of them are on disk, so that memory does not grow with them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ralph_core::cycle::{History, JournalEntry, LoopEvent, events_of};
use ralph_core::dashboard::redact::Redactor;
use ralph_core::dashboard::{AgentRows, Timeline};
use ralph_host::store::{JournalTail, SpilledLines};
use serde::Serialize;
use serde_json::Value;

use crate::limits;
use crate::stream::LogOwner;

/// Data from the journal that all requests share.
pub(crate) struct JournalFeed {
    inner: Mutex<JournalFeedState>,
    news: Condvar,
}

/// History and events of the journal so far.
pub(crate) struct JournalFeedState {
    tail: JournalTail,
    redactor: Redactor,
    pub(crate) history: History,
    pub(crate) timeline: Timeline,
    pub(crate) agents: AgentRows,
    /// All events, while the disk takes them.
    all: Option<SpilledLines>,
    recent: VecDeque<FeedEvent>,
    last: u64,
    state_dir: PathBuf,
    /// Grows when anything changed that is not an event: another file, another process.
    pub(crate) tick: u64,
    /// Grows when the journal was replaced by another one.
    pub(crate) epoch: u64,
    /// Problem with the journal; `None` when it can be read.
    pub(crate) problem: Option<String>,
    /// Number of streams that are open.
    pub(crate) watchers: usize,
}

/// An event with its place among all events of the journal.
#[derive(Serialize)]
struct NumberedEvent<'a> {
    id: u64,
    #[serde(flatten)]
    event: LoopEvent<'a>,
}

/// An event as it is told, from the first time that somebody asks for it on: to look for secrets takes
/// longer than all the rest, and nobody looks at most of a long history.
enum FeedEvent {
    Read(Box<str>),
    Told(Arc<str>),
}

impl JournalFeed {
    pub(crate) fn new(state_dir: &Path, redactor: Redactor) -> Self {
        let inner = JournalFeedState {
            tail: JournalTail::new(state_dir),
            redactor,
            history: History::default(),
            timeline: Timeline::default(),
            agents: AgentRows::default(),
            all: SpilledLines::new(state_dir).ok(),
            recent: VecDeque::new(),
            last: 0,
            state_dir: state_dir.to_owned(),
            tick: 0,
            epoch: 0,
            problem: None,
            watchers: 0,
        };
        Self { inner: Mutex::new(inner), news: Condvar::new() }
    }

    /// Return the locked data without reading the journal.
    pub(crate) fn known(&self) -> MutexGuard<'_, JournalFeedState> {
        // A thread that panicked left whole values behind.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the locked data after reading the new records of the journal.
    pub(crate) fn fresh(&self) -> MutexGuard<'_, JournalFeedState> {
        let mut inner = self.known();
        if inner.look() {
            self.news.notify_all();
        }
        inner
    }

    pub(crate) fn touch(&self) {
        self.known().tick += 1;
        self.news.notify_all();
    }

    /// Wait until there is an event after `last`, or something else changed, or the time is over.
    pub(crate) fn wait(
        &self,
        seen: FeedPosition,
        limit: Duration,
    ) -> MutexGuard<'_, JournalFeedState> {
        let same = |inner: &mut JournalFeedState| {
            inner.last() == seen.last && inner.tick == seen.tick && inner.epoch == seen.epoch
        };
        let waited = self.news.wait_timeout_while(self.known(), limit, same);
        waited.map_or_else(|e| e.into_inner().0, |(inner, _)| inner)
    }
}

/// Position of a stream: the last event that it sent, and the counters of other changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeedPosition {
    pub(crate) last: u64,
    pub(crate) tick: u64,
    pub(crate) epoch: u64,
}

impl JournalFeedState {
    /// Read what is new; whether there was anything.
    fn look(&mut self) -> bool {
        let mut changed = false;
        loop {
            match self.tail.look() {
                Ok(fresh) => {
                    changed |= self.problem.take().is_some();
                    if fresh.restarted {
                        self.restart();
                        changed = true;
                    }
                    changed |= !fresh.entries.is_empty();
                    fresh.entries.iter().for_each(|entry| self.add(entry));
                    if !fresh.more {
                        return changed;
                    }
                }
                Err(error) => {
                    let problem = Some(error.to_string());
                    changed |= self.problem != problem;
                    self.problem = problem;
                    return changed;
                }
            }
        }
    }

    fn restart(&mut self) {
        self.history = History::default();
        self.timeline = Timeline::default();
        self.agents = AgentRows::default();
        self.all = SpilledLines::new(&self.state_dir).ok();
        self.recent.clear();
        self.last = 0;
        self.epoch += 1;
    }

    fn add(&mut self, entry: &JournalEntry) {
        self.history.add(entry);
        self.timeline.add(entry);
        self.agents.add(entry);
        for event in events_of(entry, &self.history) {
            self.last += 1;
            let numbered = NumberedEvent { id: self.last, event };
            let text = serde_json::to_string(&numbered).unwrap_or_default();
            // On a full disk the newest ones have to do.
            if self.all.as_mut().is_some_and(|all| all.push(&text).is_err()) {
                self.all = None;
            }
            if self.recent.len() == limits::RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(FeedEvent::Read(text.into_boxed_str()));
        }
    }

    /// The number of the first event that can be asked for.
    pub(crate) fn first(&self) -> u64 {
        if self.all.is_some() { 1 } else { self.first_recent() }
    }

    /// The number of the first event in memory.
    fn first_recent(&self) -> u64 {
        self.last + 1 - self.recent.len() as u64
    }

    /// The number of the last event; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whose output grows now: the open attempt, or else the agent that was asked first.
    pub(crate) fn speaker(&self) -> Option<LogOwner> {
        let history = &self.history;
        let open = history.open.as_ref().and_then(|open| {
            history.attempts.iter().rev().find(|v| v.started.attempt == open.started.attempt)
        });
        open.map(LogOwner::from).or_else(|| self.agents.working().next().map(LogOwner::from))
    }

    /// Events after a number, oldest first.
    pub(crate) fn after(&mut self, number: u64, most: usize) -> Vec<(u64, Arc<str>)> {
        let number = number.clamp(self.first() - 1, self.last);
        if number + 1 < self.first_recent() {
            return self.on_disk(number, most);
        }
        let skip = usize::try_from(number + 1 - self.first_recent()).unwrap_or(usize::MAX);
        let told = self.recent.iter_mut().skip(skip).take(most).map(|kept| {
            if let FeedEvent::Read(text) = kept {
                *kept = FeedEvent::Told(told(text, &self.redactor));
            }
            match kept {
                FeedEvent::Told(text) => Arc::clone(text),
                FeedEvent::Read(text) => Arc::from(text.as_ref()),
            }
        });
        (number + 1..).zip(told).collect()
    }

    fn on_disk(&mut self, number: u64, most: usize) -> Vec<(u64, Arc<str>)> {
        let lines = self.all.as_mut().map(|all| all.lines(number, most));
        let lines = lines.and_then(Result::ok).unwrap_or_default();
        (number + 1..).zip(lines.iter().map(|line| told(line, &self.redactor))).collect()
    }

    /// The page of events that ends before a number, oldest first.
    pub(crate) fn before(&mut self, number: u64, most: usize) -> Vec<(u64, Arc<str>)> {
        let end = number.clamp(self.first(), self.last + 1);
        let length = (end - self.first()).min(most as u64);
        self.after(end - length - 1, usize::try_from(length).unwrap_or(0))
    }
}

fn told(text: &str, redactor: &Redactor) -> Arc<str> {
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    redactor.hide_json(&mut value);
    value.to_string().into()
}

#[cfg(test)]
mod tests {
    use ralph_core::cycle::{JournalRecord, Remark};
    use ralph_host::store::{Durability, Journal};

    use super::*;

    fn numbers(page: &[(u64, Arc<str>)]) -> Vec<u64> {
        let id = |text: &str| serde_json::from_str::<Value>(text).unwrap()["id"].as_u64().unwrap();
        page.iter().for_each(|(number, text)| assert_eq!(*number, id(text)));
        page.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn every_event_can_be_asked_for_in_memory_or_not_and_after_a_full_disk_the_newest() {
        let place = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(place.path()).unwrap();
        let all = limits::RECENT as u64 + 500;
        for n in 0..all {
            let text = format!("number {n}, sk-ant-api03-{}", "a1B2".repeat(12));
            let record = JournalRecord::Warned(Remark::new(text));
            journal.append("2025-01-20T10:30:00Z".into(), record, Durability::Eventual).unwrap();
        }
        let feed = JournalFeed::new(place.path(), Redactor::new(&[]));
        let mut inner = feed.fresh();
        assert_eq!((inner.first(), inner.last()), (1, all));
        for from in [0, 1, 498, 499, 500, 501, all - 3, all, all + 1, u64::MAX] {
            let expected: Vec<u64> = (from.saturating_add(1)..=all).take(5).collect();
            let page = inner.after(from, 5);
            assert_eq!(numbers(&page), expected, "after {from}");
            assert!(page.iter().all(|(_, text)| !text.contains("a1B2")), "a secret is told");
        }
        assert_eq!(numbers(&inner.before(4, 2)), [2, 3]);
        assert_eq!(numbers(&inner.before(u64::MAX, 2)), [all - 1, all]);
        inner.all = None;
        assert_eq!(inner.first(), 501);
        assert_eq!(numbers(&inner.after(0, 2)), [501, 502]);
        assert!(inner.before(3, 2).is_empty());
    }
}
