//! The session of the agent loop: a few numbers in `ralph/.agent-session`, and the block that
//! `ralph status` shows of them.
//!
//! The file belongs to the loop, which writes it anew after each spec and deletes it when it ends as
//! it should; whoever finds one sees a loop at work or one that was interrupted. Fields that this
//! version does not know stay in it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cost_sum::CostSum;
use crate::cycle::{History, RunCommand};
use crate::inbox::{InboxEntry, InboxStatus};
use crate::words::{count, elapsed};

/// The file. Fields that ralph does not know are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSession {
    /// When the session began, RFC 3339.
    pub started_at: String,
    /// Specs that were done in it.
    pub specs_completed: u32,
    /// Specs that failed in this session.
    pub specs_failed: u32,
    /// Dollars spent in this session, restarts of the agent included.
    pub total_cost: f64,
    /// Backend runs of unknown cost before the last start.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_runs_before: usize,
    /// The entry of the inbox that is worked on.
    pub current_spec_id: Option<String>,
    /// Number of specs that failed in a row.
    pub consecutive_failures: u32,
    /// Dollars that were spent when the current spec began.
    pub cost_at_spec: f64,
    /// When this run of the agent took the current spec up, RFC 3339.
    pub spec_since: String,
    /// Seconds that earlier runs worked on the current spec.
    pub spec_seconds: u64,
    /// The branch of the current spec, when it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<SpecBranch>,
    // Any JSON: fields of another version stay in the file.
    /// Fields that this version of ralph does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A spec's branch, and the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecBranch {
    /// Name of the branch, without `refs/heads/`.
    pub name: String,
    /// The branch on which commits arrived before, without `refs/heads/`.
    pub base: String,
}

/// Whether a loop works on the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionActivity {
    Running,
    /// None does: it was stopped or killed, and the next `ralph agent` goes on with it.
    Interrupted,
}

impl AgentSession {
    /// Read the file's text. An error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }

    /// Serialize the session as the text of its file.
    pub fn to_text(&self) -> String {
        // Strings, numbers and values that were read as JSON: nothing here can fail.
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }

    /// Return the dollars that this session has spent.
    /// The session file is written between stages only, so the journal may know a higher amount.
    pub fn spent(&self, history: &History) -> f64 {
        match is_last_run(history) && self.current_spec_id.is_some() {
            true => self.total_cost.max(history.cost),
            false => self.total_cost,
        }
    }

    /// The same, with the runs whose cost is not known.
    pub fn cost(&self, history: &History) -> CostSum {
        let unknown_runs = match is_last_run(history) {
            true => CostSum::of_last_run(history).unknown_runs,
            false => 0,
        };
        let unknown_runs = unknown_runs.saturating_add(self.unknown_runs_before);
        CostSum { usd: self.spent(history), unknown_runs }
    }

    /// Return the seconds of work on the current spec, without the pauses between two runs.
    pub fn seconds_of_spec(&self, now: &str) -> u64 {
        self.spec_seconds.saturating_add(seconds_between(&self.spec_since, now))
    }

    /// The block at the top of `ralph status`, one line each.
    pub fn block(
        &self,
        inbox: &[InboxEntry],
        history: &History,
        at_work: SessionActivity,
        now: &str,
    ) -> Vec<String> {
        let mode = match at_work {
            SessionActivity::Running => "agent",
            SessionActivity::Interrupted => "agent (interrupted; `ralph agent` goes on)",
        };
        let current = match &self.current_spec_id {
            None => "none".to_owned(),
            Some(id) => match inbox.iter().find(|entry| entry.id == *id) {
                Some(entry) => format!("{} ({id})", entry.spec),
                None => id.clone(),
            },
        };
        let time = match self.seconds(now) {
            Some(seconds) => elapsed(seconds),
            None => "unknown time".to_owned(),
        };
        vec![
            format!("Mode: {mode}"),
            format!("Current spec: {current}"),
            format!("Inbox: {}", counts(inbox)),
            format!(
                "Session: {} completed, {} spent, {time} elapsed",
                count(usize::try_from(self.specs_completed).unwrap_or(usize::MAX), "spec"),
                self.cost(history)
            ),
        ]
    }

    /// Return the age of the session in seconds.
    /// If the clock was set back, the age is 0. If `started_at` is no timestamp, it is `None`.
    pub fn seconds(&self, now: &str) -> Option<u64> {
        let began: Timestamp = self.started_at.trim().parse().ok()?;
        Some(seconds_between(&began.to_string(), now))
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_last_run(history: &History) -> bool {
    history.run.as_ref().is_some_and(|run| run.command == RunCommand::Agent)
}

/// Seconds from one moment to a later one, RFC 3339. What is no time, and a clock that was set back,
/// gives 0.
pub fn seconds_between(from: &str, to: &str) -> u64 {
    let second = |at: &str| at.trim().parse::<Timestamp>().map(Timestamp::as_second);
    match (second(from), second(to)) {
        (Ok(from), Ok(to)) => u64::try_from(to.saturating_sub(from)).unwrap_or(0),
        _ => 0,
    }
}

/// `2 pending, 1 active, 5 done, 0 failed`.
pub fn counts(inbox: &[InboxEntry]) -> String {
    let count = |status| inbox.iter().filter(|entry| entry.status == status).count();
    let one = |status: InboxStatus| format!("{} {}", count(status), status.as_str());
    InboxStatus::ALL.map(one).join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::inbox::Inbox;

    const FILE: &str = r#"{
  "started_at": "2025-01-20T10:00:00Z",
  "specs_completed": 3,
  "specs_failed": 0,
  "total_cost": 2.45,
  "current_spec_id": "q-e5f6"
}
"#;

    fn queue() -> String {
        let line = |id: &str, spec: &str, status: &str| {
            format!(
                "{{\"t\":\"inbox\",\"id\":\"{id}\",\"spec\":\"{spec}\",\
                 \"added_at\":\"2025-01-20T09:00:00Z\",\"status\":\"{status}\"}}\n"
            )
        };
        let done = (0..5).map(|n| line(&format!("q-aaa{n}"), "old.md", "done")).collect::<String>();
        done + &line("q-e5f6", "refactor-z.md", "active")
            + &line("q-bbb1", "feature-x.md", "pending")
            + &line("q-bbb2", "bugfix-y.md", "pending")
    }

    #[test]
    fn the_block_is_the_one_of_the_specification() {
        let queue = queue();
        let session = AgentSession::parse(FILE).unwrap();
        let inbox = Inbox::parse(&queue).unwrap().into_entries();
        let block = session.block(
            &inbox,
            &History::default(),
            SessionActivity::Running,
            "2025-01-20T11:23:45Z",
        );
        assert_eq!(
            block.join("\n"),
            "Mode: agent\n\
             Current spec: refactor-z.md (q-e5f6)\n\
             Inbox: 2 pending, 1 active, 5 done, 0 failed\n\
             Session: 3 specs completed, $2.45 spent, 1h 23m elapsed"
        );
    }

    #[test]
    fn an_interrupted_session_says_how_to_go_on_and_a_strange_one_does_not_lie() {
        let session = AgentSession {
            started_at: "teatime".into(),
            current_spec_id: Some("q-gone".into()),
            ..AgentSession::default()
        };
        let block = session.block(
            &[],
            &History::default(),
            SessionActivity::Interrupted,
            "2025-01-20T11:23:45Z",
        );
        assert_eq!(
            block.join("\n"),
            "Mode: agent (interrupted; `ralph agent` goes on)\n\
             Current spec: q-gone\n\
             Inbox: 0 pending, 0 active, 0 done, 0 failed\n\
             Session: 0 specs completed, $0.00 spent, unknown time elapsed"
        );
        let idle = AgentSession { started_at: "2025-01-20T11:23:45Z".into(), ..session };
        assert_eq!(idle.seconds("2025-01-20T11:00:00Z"), Some(0), "the clock was set back");
    }

    #[test]
    fn the_text_begins_as_in_the_specification_and_unknown_fields_stay() {
        let text = AgentSession::parse(FILE).unwrap().to_text();
        assert!(text.starts_with(FILE.trim_end_matches(['}', '\n'])), "{text}");
        let more = FILE.replacen("{\n", "{\n  \"host\": {\"name\": \"x\"},\n", 1);
        let text = AgentSession::parse(&more).unwrap().to_text();
        assert!(text.contains("\"host\": {\n    \"name\": \"x\"\n  }"), "{text}");
        assert!(AgentSession::parse("{").is_err());
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(done in any::<u32>(), cents in any::<u32>(), id in "q-[a-z0-9]{4}") {
            let session = AgentSession {
                started_at: "2025-01-20T10:00:00Z".into(),
                specs_completed: done,
                total_cost: f64::from(cents) / 100.0,
                current_spec_id: Some(id),
                ..AgentSession::default()
            };
            prop_assert_eq!(AgentSession::parse(&session.to_text()), Ok(session));
        }
    }
}
