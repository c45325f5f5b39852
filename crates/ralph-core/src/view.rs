//! Read-only views of a plan as JSON, the same for every face and every format.
//!
//! The field names are plan.jsonl's. `state` is ours: one word for where a task stands.

use serde_json::{Map, Value, json};

use crate::plan::{Issue, Item, Kill, Plan, Stage, State, Task, Trust, next, runnable};

/// One task. Fields that say nothing are left out; `accept` is a text when there is one criterion
/// and an array when there are several, as in plan.jsonl.
pub fn task(task: &Task) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        let empty = match &value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty {
            out.insert(key.to_owned(), value);
        }
    };
    put("id", json!(task.id));
    put("spec", json!(task.spec));
    put("name", json!(task.name));
    put("s", json!(if task.state == State::Done { "d" } else { "p" }));
    put("state", json!(task.state.word()));
    put("phase", json!(task.phase));
    put("notes", json!(task.notes));
    put("accept", if let [one] = &task.accept[..] { json!(one) } else { json!(task.accept) });
    put("deps", json!(task.deps));
    put("priority", json!(task.priority));
    put("parent", json!(task.parent));
    put("created_from", json!(task.created_from));
    put("skills", json!(task.skills));
    put("libraries", json!(task.libraries));
    put("needs_docs", if task.needs_docs { json!(true) } else { Value::Null });
    put("max_turns", json!(task.max_turns));
    put("timeout_ms", json!(task.timeout_ms));
    put("max_retries", json!(task.max_retries));
    put("retry_count", if task.retries > 0 { json!(task.retries) } else { Value::Null });
    put("done_at", json!(task.done_at));
    put("reject", json!(task.reject));
    match &task.state {
        State::Blocked(reason) => put("blocked", json!(reason)),
        State::Failed(reason) => put("failed", json!(reason)),
        State::Killed(kill) => put_kill(&mut put, kill),
        _ => {}
    }
    Value::Object(out)
}

/// One issue.
pub fn issue(issue: &Issue) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            out.insert(key.to_owned(), value);
        }
    };
    put("id", json!(issue.id));
    put("spec", json!(issue.spec));
    put("desc", json!(issue.desc));
    put("priority", json!(issue.priority));
    put("created_from", json!(issue.created_from));
    if let Some(kill) = &issue.kill {
        put_kill(&mut put, kill);
    }
    Value::Object(out)
}

fn put_kill(put: &mut impl FnMut(&str, Value), kill: &Kill) {
    put("kill_reason", json!(kill.reason));
    put("kill_log", json!(kill.log));
}

/// The answer of `ralph query next`.
pub fn next_action(plan: &Plan) -> Value {
    let (stage, items) = next(plan);
    let items: Vec<Value> = items.iter().map(item).collect();
    json!({ "action": stage.as_str(), "item": items.first(), "items": items })
}

fn item(item: &Item<'_>) -> Value {
    match item {
        Item::Task(t) => task(t),
        Item::Issue(i) => issue(i),
        Item::Stuck(t, why) => {
            let mut value = task(t);
            value["why"] = json!(why.to_string());
            value
        }
    }
}

/// The answer of `ralph query tasks`: open tasks in the order in which they will be taken, as far
/// as that is known, and the claimed ones.
pub fn tasks(plan: &Plan) -> Value {
    let ready = runnable(plan, Trust::Claimed);
    let rest = plan
        .scoped_tasks()
        .filter(|t| t.state.is_open() && !ready.iter().any(|r| std::ptr::eq(*r, *t)));
    let pending: Vec<Value> = ready.iter().copied().chain(rest).map(task).collect();
    json!({ "pending": pending, "done": done_tasks(plan) })
}

/// The answer of `ralph query tasks --done`.
pub fn done_tasks(plan: &Plan) -> Value {
    plan.scoped_tasks().filter(|t| t.state == State::Done).map(task).collect()
}

/// The answer of `ralph query issues`.
pub fn issues(plan: &Plan) -> Value {
    plan.scoped_issues().map(issue).collect()
}

/// The answer of a bare `ralph query`.
pub fn summary(plan: &Plan, iteration: u64) -> Value {
    let next = next_action(plan);
    json!({
        "stage": next["action"],
        "iteration": iteration,
        "spec": plan.current_spec,
        "tasks": tasks(plan),
        "issues": issues(plan),
        "next": next,
    })
}

/// The stage that follows from a plan, for people: one without tasks and issues is not complete.
pub fn stage_word(plan: &Plan) -> &'static str {
    match crate::plan::stage(plan) {
        Stage::Complete if Tally::of(plan).total() == 0 => "NO TASKS",
        stage => stage.as_str(),
    }
}

/// A remark on open tasks of other specs, which no count of the current spec has.
pub fn other_specs(plan: &Plan) -> Option<String> {
    let is_open = |task: &&Task| task.state.is_open() && !plan.in_scope(task.spec.as_deref());
    let number = plan.tasks.iter().filter(is_open).count();
    let verb = if number == 1 { "is" } else { "are" };
    let tasks = crate::words::count(number, "task");
    (number > 0).then(|| format!("{tasks} of other specs {verb} open (`ralph spec list`)"))
}

/// How the tasks in scope stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Waiting or running.
    pub pending: usize,
    /// Claimed, not verified.
    pub done: usize,
    /// Verified.
    pub accepted: usize,
    /// Blocked or killed.
    pub blocked: usize,
    /// Given up.
    pub failed: usize,
    /// Left out.
    pub skipped: usize,
}

impl Tally {
    /// Count the tasks in scope, those that have left the plan included.
    pub fn of(plan: &Plan) -> Self {
        use crate::plan::TombstoneKind;
        let mut tally = Self::default();
        for task in plan.scoped_tasks() {
            match task.state {
                State::Pending | State::Running => tally.pending += 1,
                State::Done => tally.done += 1,
                State::Accepted => tally.accepted += 1,
                State::Blocked(_) | State::Killed(_) => tally.blocked += 1,
                State::Failed(_) => tally.failed += 1,
                State::Skipped => tally.skipped += 1,
            }
        }
        let lookup = crate::plan::Lookup::new(plan);
        for stone in &plan.tombstones {
            // Only the last word about a task that is not live counts.
            let last = lookup.tombstone(&stone.id).is_some_and(|s| std::ptr::eq(s, stone));
            if !last || lookup.task(&stone.id).is_some() || !plan.in_scope(stone.spec.as_deref()) {
                continue;
            }
            match stone.kind {
                TombstoneKind::Accept => tally.accepted += 1,
                TombstoneKind::Reject => tally.failed += 1,
                TombstoneKind::Delete => tally.skipped += 1,
            }
        }
        tally
    }

    /// Tasks whose work was done. A task that was skipped or removed is not done.
    pub fn finished(&self) -> usize {
        self.done + self.accepted
    }

    /// Tasks that cannot go on by themselves.
    pub fn stuck(&self) -> usize {
        self.blocked + self.failed
    }

    /// All tasks that count.
    pub fn total(&self) -> usize {
        self.pending + self.done + self.accepted + self.blocked + self.failed + self.skipped
    }
}
