//! What a loop tells whoever looks at it. Nothing is decided from it.

use ralph_core::backend::Event as BackendEvent;
use ralph_core::construct::Summary;
use ralph_core::cycle::{
    AmendmentRow, Answered, End, Failure, Landing, PlanAmended, Proof, StageEnd, StageKind,
};
use ralph_core::needs::Need;
use ralph_core::plan::Task;

/// How many tasks are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accepted, or claimed done.
    pub done: usize,
    /// All of them.
    pub total: usize,
    /// Skipped by a person, or removed by an agent.
    pub skipped: usize,
    /// Failed or blocked.
    pub stuck: usize,
}

/// What becomes of a task after an attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is tried again; so many attempts are left.
    Again(u32),
    /// It is broken down into smaller ones.
    BrokenDown,
    /// It is given up, or blocked.
    Stuck,
}

impl Then {
    /// Attempts that are left.
    pub fn left(self) -> Option<u32> {
        match self {
            Self::Again(left) => Some(left),
            Self::BrokenDown | Self::Stuck => None,
        }
    }
}

/// One thing a loop tells.
#[derive(Clone, Debug)]
pub enum Notice<'a> {
    /// The loop begins.
    Started {
        /// The run's id.
        run: &'a str,
        /// The plan file, as people call it.
        plan: &'a str,
        /// The backend.
        backend: &'a str,
        /// The gates, by name.
        gates: &'a [String],
        /// Where the tasks stand.
        tally: Tally,
    },
    /// Something that an earlier run left was brought to its end.
    Recovered(&'a str),
    /// Something a person should know.
    Warning(&'a str),
    /// An attempt begins.
    Attempt {
        /// Its id.
        attempt: &'a str,
        /// Its number.
        iteration: u32,
        /// The task.
        task: &'a Task,
        /// Failed attempts before.
        retries: u32,
        /// Most of them.
        max_retries: u32,
        /// The backend.
        backend: &'a str,
        /// The model asked for.
        model: Option<&'a str>,
        /// Where the tasks stand.
        tally: Tally,
        /// Where its output goes.
        log: &'a str,
    },
    /// The backend said something.
    Backend(&'a BackendEvent),
    /// The monitor said something.
    Monitor(&'a str),
    /// The backend has ended.
    BackendEnded {
        /// How, in words.
        outcome: &'a str,
        /// Paths it changed.
        changed: usize,
        /// Dollars, where known.
        cost: Option<f64>,
        /// How long it took.
        took_ms: u64,
    },
    /// An agent is asked something.
    Asking {
        /// What for.
        role: &'a str,
        /// About what; empty when that is clear.
        item: &'a str,
        /// Where its output goes.
        log: &'a str,
    },
    /// It has ended.
    Answered(&'a Answered),
    /// Somebody says something that a person may want to know.
    Said {
        /// Who, in a word.
        who: &'a str,
        /// What.
        what: &'a str,
    },
    /// A stage of a construct begins.
    StageStarted {
        /// The iteration; 0 is the plan.
        iteration: u32,
        /// Which stage.
        stage: StageKind,
    },
    /// A stage of a construct has ended.
    StageEnded(&'a StageEnd),
    /// The agent says where it is: fetch, commit …
    Agent(&'a str),
    /// A construct has ended; this is what it did.
    Summary(&'a Summary),
    /// A gate begins.
    GateStarted {
        /// Its name.
        name: &'a str,
        /// Whether it runs on the tree before the attempt, to tell old failures from new ones.
        baseline: bool,
    },
    /// A gate ended.
    GateEnded {
        /// Its name.
        name: &'a str,
        /// Whether it was green.
        passed: bool,
        /// Its failures were there before.
        preexisting: bool,
        /// How long it took.
        took_ms: u64,
    },
    /// The work landed.
    Landed {
        /// The task.
        task: &'a Task,
        /// The commit.
        commit: Option<&'a str>,
        /// How the task is left.
        landing: Landing,
        /// How far it is proven.
        proof: Proof,
        /// One line.
        summary: &'a str,
        /// What else to know: tests that were changed, gates that prove nothing …
        remarks: &'a [String],
        /// Where the tasks stand now.
        tally: Tally,
    },
    /// All tasks of a spec are out of the way, and its work is one commit.
    SpecLanded {
        /// The commit's subject.
        subject: &'a str,
        /// The commit.
        commit: &'a str,
    },
    /// An agent changed the plan, or wanted to.
    Amended(&'a PlanAmended),
    /// The attempt was rolled back.
    Failed {
        /// Its number.
        iteration: u32,
        /// The task.
        task: &'a Task,
        /// Why.
        failure: &'a Failure,
        /// What becomes of the task.
        then: Then,
        /// The ref that keeps its work.
        salvage: Option<&'a str>,
        /// The first lines of what went wrong.
        detail: &'a str,
    },
    /// The loop waits; told about once a second.
    Waiting {
        /// What for.
        reason: &'a str,
        /// Seconds left.
        seconds: u64,
    },
    /// Somebody paused the loop, and it waits.
    Paused,
    /// A signal came, and the attempt goes on to its end.
    Stopping,
    /// The loop ended.
    Ended {
        /// The command that goes on with it: build or construct.
        command: &'a str,
        /// Why.
        end: &'a End,
        /// The same in words.
        reason: &'a str,
        /// What needs a person.
        needs: &'a [Need],
        /// Tasks that agents took out of the plan since a run last ended complete.
        removed: &'a [AmendmentRow],
        /// Tasks that are left.
        remaining: usize,
        /// Tasks that landed in this run.
        landed: usize,
        /// Attempts of this run.
        attempts: usize,
        /// Dollars of this run, where known.
        cost: Option<f64>,
        /// How long it took.
        took_ms: u64,
    },
}

/// Whoever looks at a loop.
pub trait Listener {
    /// Something happened. Called from the loop's own thread.
    fn hear(&mut self, notice: Notice<'_>);
}

impl<F: FnMut(Notice<'_>)> Listener for F {
    fn hear(&mut self, notice: Notice<'_>) {
        self(notice);
    }
}
