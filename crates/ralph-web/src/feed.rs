//! The journal, read once for everybody: history, timeline and numbered events.
//!
//! An event's number is its place among all events of the journal, so that it is the same for every
//! server that reads this journal. Whoever streams events asks for those after a number; nobody has a
//! queue of their own, so that a slow client costs nothing but its connection.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ralph_core::cycle::{Entry, History, event_of};
use ralph_core::dashboard::Timeline;
use ralph_core::dashboard::redact::Redactor;
use ralph_host::store::JournalTail;
use serde_json::{Value, json};

use crate::limits;

/// What is shared.
pub(crate) struct Feed {
    inner: Mutex<Inner>,
    news: Condvar,
}

/// What the journal says up to now.
pub(crate) struct Inner {
    tail: JournalTail,
    redactor: Redactor,
    pub(crate) history: History,
    pub(crate) timeline: Timeline,
    events: VecDeque<Kept>,
    /// The number of the first event that is kept.
    first: u64,
    /// Grows when anything changed that is not an event: another file, another process.
    pub(crate) tick: u64,
    /// Grows when the journal was replaced by another one.
    pub(crate) epoch: u64,
    /// What is wrong with the journal.
    pub(crate) problem: Option<String>,
    /// How many streams there are.
    pub(crate) watchers: usize,
}

/// An event as it is told, from the first time that somebody asks for it on: to look for secrets takes
/// longer than all the rest, and nobody looks at most of a long history.
enum Kept {
    Read(Box<str>),
    Told(Box<str>),
}

impl Feed {
    pub(crate) fn new(state_dir: &Path, redactor: Redactor) -> Self {
        let inner = Inner {
            tail: JournalTail::new(state_dir),
            redactor,
            history: History::default(),
            timeline: Timeline::default(),
            events: VecDeque::new(),
            first: 1,
            tick: 0,
            epoch: 0,
            problem: None,
            watchers: 0,
        };
        Self { inner: Mutex::new(inner), news: Condvar::new() }
    }

    /// What is known, without a look at the journal.
    pub(crate) fn known(&self) -> MutexGuard<'_, Inner> {
        // A thread that panicked left whole values behind.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known after a look at the journal.
    pub(crate) fn fresh(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.known();
        if inner.look() {
            self.news.notify_all();
        }
        inner
    }

    /// Something else changed.
    pub(crate) fn touch(&self) {
        self.known().tick += 1;
        self.news.notify_all();
    }

    /// Wait until there is an event after `last`, or something else changed, or the time is over.
    pub(crate) fn wait(&self, seen: Seen, limit: Duration) -> MutexGuard<'_, Inner> {
        let same = |inner: &mut Inner| {
            inner.last() == seen.last && inner.tick == seen.tick && inner.epoch == seen.epoch
        };
        let waited = self.news.wait_timeout_while(self.known(), limit, same);
        waited.map_or_else(|e| e.into_inner().0, |(inner, _)| inner)
    }
}

/// What a stream has told already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) last: u64,
    pub(crate) tick: u64,
    pub(crate) epoch: u64,
}

impl Inner {
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
        self.events.clear();
        self.first = 1;
        self.epoch += 1;
    }

    fn add(&mut self, entry: &Entry) {
        self.history.add(entry);
        self.timeline.add(entry);
        for event in event_of(entry, &self.history) {
            let mut value = json!({ "id": self.last() + 1 });
            if let (Value::Object(value), Ok(Value::Object(event))) =
                (&mut value, serde_json::to_value(&event))
            {
                value.extend(event);
            }
            if self.events.len() == limits::EVENTS {
                self.events.pop_front();
                self.first += 1;
            }
            self.events.push_back(Kept::Read(value.to_string().into_boxed_str()));
        }
    }

    /// The number of the first event that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The number of the last event; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }

    /// Events after a number, oldest first.
    pub(crate) fn after(&mut self, number: u64, most: usize) -> impl Iterator<Item = (u64, &str)> {
        let from = number.max(self.first - 1);
        let skip = usize::try_from(from + 1 - self.first).unwrap_or(usize::MAX);
        for kept in self.events.iter_mut().skip(skip).take(most) {
            if let Kept::Read(text) = kept {
                let mut value: Value = serde_json::from_str(text).unwrap_or_default();
                self.redactor.hide_json(&mut value);
                *kept = Kept::Told(value.to_string().into_boxed_str());
            }
        }
        let told = self.events.iter().skip(skip).take(most).filter_map(|kept| match kept {
            Kept::Told(text) => Some(text.as_ref()),
            Kept::Read(_) => None,
        });
        (from + 1..).zip(told)
    }

    /// The page of events that ends before a number, oldest first.
    pub(crate) fn before(&mut self, number: u64, most: usize) -> impl Iterator<Item = (u64, &str)> {
        let end = number.clamp(self.first, self.last() + 1);
        let length = (end - self.first).min(most as u64);
        self.after(end - length - 1, usize::try_from(length).unwrap_or(0))
    }
}
