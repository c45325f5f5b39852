//! The same tasks as a plan in each of the four formats.

use serde_json::json;

/// A plan file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Deluxe,
    Progress,
    Implementation,
}

/// A task as a test wants it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) id: &'static str,
    pub(crate) deps: &'static [&'static str],
}

/// A task without dependencies.
pub(crate) const fn task(id: &'static str) -> Task {
    Task { id, deps: &[] }
}

/// A task that waits for others.
pub(crate) const fn after(id: &'static str, deps: &'static [&'static str]) -> Task {
    Task { id, deps }
}

impl Format {
    pub(crate) const ALL: [Self; 4] =
        [Self::Jsonl, Self::Deluxe, Self::Progress, Self::Implementation];

    /// Where a plan of this format is kept.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Jsonl => "ralph/plan.jsonl",
            Self::Deluxe => "plan.json",
            Self::Progress => "progress.md",
            Self::Implementation => "implementation.json",
        }
    }

    /// A plan with these tasks. A progress file knows neither ids nor dependencies: its ids follow
    /// from the names, which are `Do <id>`.
    pub(crate) fn text(self, tasks: &[Task]) -> String {
        match self {
            Self::Jsonl => jsonl(tasks),
            Self::Deluxe => deluxe(tasks),
            Self::Progress => progress(tasks),
            Self::Implementation => implementation(tasks),
        }
    }

    /// Whether the text of a plan says that this task is done.
    pub(crate) fn says_done(self, text: &str, id: &str) -> bool {
        match self {
            Self::Jsonl => records(text).iter().any(|r| r["t"] == "accept" && r["id"] == id),
            Self::Deluxe => field(&value(text)["tasks"], id, "status") == "done",
            Self::Progress => text.contains(&format!("- [x] Do {id}\n")),
            Self::Implementation => {
                let plan = value(text);
                let specs = plan["specs"].as_array().unwrap();
                specs.iter().any(|spec| field(&spec["tasks"], id, "status") == "completed")
            }
        }
    }
}

/// The records of a plan.jsonl.
pub(crate) fn records(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// A JSON document.
#[track_caller]
pub(crate) fn value(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

/// A field of the object with this id in a list.
pub(crate) fn field(list: &serde_json::Value, id: &str, name: &str) -> serde_json::Value {
    let found = list.as_array().and_then(|list| list.iter().find(|one| one["id"] == id));
    found.map(|one| one[name].clone()).unwrap_or_default()
}

fn jsonl(tasks: &[Task]) -> String {
    let mut text = String::from("{\"t\":\"spec\",\"spec\":\"work.md\"}\n");
    for task in tasks {
        let record = json!({
            "t": "task", "id": task.id, "spec": "work.md", "name": format!("Do {}", task.id),
            "s": "p", "deps": task.deps,
        });
        text.push_str(&format!("{record}\n"));
    }
    text
}

fn deluxe(tasks: &[Task]) -> String {
    let tasks: Vec<_> = tasks
        .iter()
        .map(|task| {
            json!({
                "id": task.id, "title": format!("Do {}", task.id), "description": "As it says.",
                "status": "pending", "depends_on": task.deps,
                "acceptance_criteria": ["it is done"], "retry_count": 0,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "project": "work", "tasks": tasks }))
}

fn progress(tasks: &[Task]) -> String {
    let mut text =
        String::from("# Progress: Work\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1\n\n");
    for task in tasks {
        text.push_str(&format!("- [ ] Do {}\n", task.id));
    }
    text.push_str("\n## Ideas of mine\n\nA section that ralph does not know: `keep | it`.\n");
    text
}

fn implementation(tasks: &[Task]) -> String {
    let tasks: Vec<_> = tasks
        .iter()
        .map(|task| {
            json!({
                "id": task.id, "description": format!("Do {}", task.id), "status": "pending",
                "dependsOn": task.deps,
            })
        })
        .collect();
    let spec = json!({
        "id": "work", "file": "ralph/specs/work.md", "name": "The Work", "priority": 1,
        "status": "pending", "context": "There is work to do.", "tasks": tasks,
        "acceptanceCriteria": ["all of it is done"],
    });
    let plan = json!({
        "version": 1, "updatedAt": "2026-01-17T10:30:00Z", "updatedBy": "plan-mode", "specs": [spec],
    });
    format!("{plan:#}\n")
}
