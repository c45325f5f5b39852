//! What a person wants to know first: what runs, how far it is, whether it is healthy, what it cost,
//! and what needs them.

use serde::Serialize;

use super::Tally;
use crate::cycle::{AttemptView, FailureKind, Fate, History, Phase};
use crate::plan::{Lookup, Plan, Trust, obstacle, obstacles};

/// Most lines about what needs somebody.
const MOST_NEEDS: usize = 50;
/// Failures in a row that are worth a look.
const IN_A_ROW: usize = 2;
/// The share of the money from which on it is worth a look.
const NEARLY: f64 = 0.8;

/// Whether a loop is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Running {
    /// One is.
    Yes,
    /// None is.
    No,
}

/// How things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As they should be.
    Good,
    /// Worth a look.
    Caution,
    /// Not going on without somebody.
    Bad,
}

impl Health {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Caution => "look",
            Self::Bad => "bad",
        }
    }
}

/// The five answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Glance {
    /// What runs.
    pub doing: String,
    /// Since when, RFC 3339.
    pub since: Option<String>,
    /// How far it is.
    pub tally: Tally,
    /// Whether it is healthy.
    pub health: Health,
    /// Why it is taken to be so.
    pub why: String,
    /// Dollars of this run, as far as they are known.
    pub spent: f64,
    /// Some of the cost is unknown.
    pub spent_unknown: bool,
    /// The most it may cost.
    pub limit: Option<f64>,
    /// Dollars of all runs here.
    pub spent_ever: f64,
    /// What needs somebody, one line each.
    pub needs: Vec<String>,
}

/// Answer the five questions.
pub fn glance(plan: &Plan, history: &History, running: Running, limit: Option<f64>) -> Glance {
    let (doing, since) = doing(history, running);
    let (health, why) = health(history, running, limit);
    Glance {
        doing,
        since,
        tally: Tally::of(plan),
        health,
        why,
        spent: history.cost,
        spent_unknown: history.cost_unknown,
        limit,
        spent_ever: history.total_cost,
        needs: needs(plan, history, running),
    }
}

fn doing(history: &History, running: Running) -> (String, Option<String>) {
    let Some(run) = &history.run else { return ("nothing has run here yet".into(), None) };
    let since = history.attempts.last().map(|view| view.at.clone());
    match (running, &history.run_end) {
        (Running::No, None) => {
            return (format!("ralph {} was interrupted", run.command), history.run_at.clone());
        }
        (Running::No, Some(end)) => {
            let end = end.replace('_', " ");
            return (format!("nothing; the last ralph {} ended: {end}", run.command), None);
        }
        (Running::Yes, _) => {}
    }
    if let Some(open) = &history.open {
        let started = &open.started;
        let what = match open.phase {
            Phase::Running => format!("{} works", started.backend),
            Phase::Ended(_) => "the gates run".to_owned(),
            Phase::Landing(_) => "the work lands".to_owned(),
            Phase::RollingBack(_) => "the work is rolled back".to_owned(),
        };
        let retry = match started.retries {
            0 => String::new(),
            n => format!(", retry {n}"),
        };
        let text = format!("{}  {}: {what}{retry}", started.task, started.name);
        return (text, since);
    }
    if let Some(asked) = &history.consulting {
        return (format!("an agent is asked to {}", asked.role), None);
    }
    match (&history.wait, history.paused) {
        (_, true) => ("paused".into(), None),
        (Some(wait), _) => (format!("waits for the usage limit of {}", wait.backend), None),
        (None, false) => (format!("ralph {} decides what comes next", run.command), None),
    }
}

fn health(history: &History, running: Running, limit: Option<f64>) -> (Health, String) {
    let ended = history.run_end.as_deref();
    if history.run.is_some() && running == Running::No {
        return match ended {
            None => (Health::Bad, "it ended without saying why; a start recovers".into()),
            Some("complete") => (Health::Good, "everything is done".into()),
            Some("blocked" | "backend_unusable" | "no_plan") => {
                (Health::Bad, "it cannot go on by itself".into())
            }
            Some(end) => (Health::Caution, format!("ended: {}", end.replace('_', " "))),
        };
    }
    let over: Vec<&AttemptView> = history.of_run().filter(|view| view.fate != Fate::Open).collect();
    let failed = |view: &&&AttemptView| match &view.fate {
        Fate::Failed { failure, .. } => failure.kind != FailureKind::Interrupted,
        _ => false,
    };
    let row = over.iter().rev().take_while(failed).count();
    if row >= IN_A_ROW {
        return (Health::Caution, format!("the last {row} attempts failed"));
    }
    if let Some(wait) = &history.wait {
        return (Health::Caution, format!("usage limit: {}", wait.reason));
    }
    if let Some(limit) = limit.filter(|limit| history.cost >= limit * NEARLY) {
        return (Health::Caution, format!("most of ${limit:.2} is spent"));
    }
    let landed = over.iter().filter(|view| matches!(view.fate, Fate::Landed { .. })).count();
    match over.len() {
        0 => (Health::Good, "no attempt has ended yet".into()),
        all => (Health::Good, format!("{landed} of {all} attempts landed")),
    }
}

fn needs(plan: &Plan, history: &History, running: Running) -> Vec<String> {
    let mut needs = Vec::new();
    if history.run.is_some() && running == Running::No && history.run_end.is_none() {
        needs.push("the loop was interrupted: start it again, it goes on from there".into());
    }
    if history.paused && running == Running::Yes {
        needs.push("paused: `ralph resume` goes on".into());
    }
    let lookup = Lookup::new(plan);
    for task in plan.scoped_tasks() {
        use crate::plan::State;
        if matches!(task.state, State::Blocked(_) | State::Failed(_))
            && let Some(why) = obstacle(task, &lookup, Trust::Verified)
        {
            needs.push(format!("{}: {why}", task.id));
        }
    }
    if needs.is_empty() && running == Running::No && history.run_end.as_deref() == Some("blocked") {
        let stuck = obstacles(plan, Trust::Verified).into_iter();
        needs.extend(stuck.map(|(task, why)| format!("{}: {why}", task.id)));
    }
    needs.truncate(MOST_NEEDS);
    needs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::{Entry, Record, RunStart, Started};
    use crate::format::{Format, codec};

    fn told(records: Vec<Record>, running: Running) -> Glance {
        let at = || "2025-01-20T10:30:00Z".to_owned();
        let entries: Vec<Entry> =
            records.into_iter().map(|record| Entry { at: at(), record }).collect();
        let text = "{\"t\":\"task\",\"id\":\"t-aaa1\",\"name\":\"One\",\"s\":\"p\",\"blocked\":\"no key\"}\n";
        let plan = codec(Format::Jsonl).parse(text).unwrap();
        glance(&plan, &History::of(&entries), running, Some(1.0))
    }

    fn run() -> Record {
        Record::RunStarted(RunStart {
            run: "r".into(),
            command: "build".into(),
            spent: 0.9,
            ..RunStart::default()
        })
    }

    #[test]
    fn the_five_questions_have_an_answer_at_every_moment() {
        let nothing = told(Vec::new(), Running::No);
        assert_eq!(nothing.doing, "nothing has run here yet");
        assert_eq!(nothing.needs, ["t-aaa1: blocked: no key"]);
        let gone = told(vec![run()], Running::No);
        assert_eq!(
            (gone.health, gone.doing.as_str()),
            (Health::Bad, "ralph build was interrupted")
        );
        assert_eq!(gone.needs.len(), 2);
        let started = Started {
            task: "t-aaa1".into(),
            name: "One".into(),
            backend: "sim".into(),
            run: "r".into(),
            retries: 1,
            ..Started::default()
        };
        let works = told(vec![run(), Record::AttemptStarted(started)], Running::Yes);
        assert_eq!(works.doing, "t-aaa1  One: sim works, retry 1");
        assert_eq!((works.health, works.why.as_str()), (Health::Caution, "most of $1.00 is spent"));
        assert_eq!(works.since.as_deref(), Some("2025-01-20T10:30:00Z"));
    }
}
