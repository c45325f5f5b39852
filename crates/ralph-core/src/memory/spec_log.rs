//! `PROGRESS.md` beside implementation.json: one section a finished spec, newest last.

use std::fmt::Write as _;

use super::flat;
use crate::gate::GateCheck;
use crate::plan::{Task, TaskState};

/// A spec all of whose tasks are out of the way.
#[derive(Clone, Debug)]
pub struct CompletedSpec<'a> {
    /// Date of completion, such as `2026-01-17`.
    pub date: &'a str,
    pub name: &'a str,
    /// Tasks of the spec, in the order of the plan.
    pub tasks: &'a [&'a Task],
    /// Latest results of the gates.
    pub gates: &'a [GateCheck],
    /// The commit that holds it: its subject, since the file is a part of it and cannot know its hash.
    pub commit: Option<&'a str>,
}

/// The file with this spec's section at the end. A section that is there already is not written twice.
pub fn spec_done(old: &str, spec: &CompletedSpec<'_>) -> String {
    let section = section(spec);
    let there = old.find(&section).is_some_and(|at| at == 0 || old[..at].ends_with('\n'));
    if there {
        return old.to_owned();
    }
    let gap = match old {
        "" => "# Progress\n\n",
        _ if old.ends_with("\n\n") => "",
        _ if old.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{old}{gap}{section}")
}

fn section(spec: &CompletedSpec<'_>) -> String {
    let mut text = format!("## {} {}\n\nTasks:\n\n", spec.date, flat(spec.name));
    for task in spec.tasks {
        let name = flat(&task.name);
        // Writing to a string cannot fail.
        let _ = match &task.state {
            TaskState::Accepted => writeln!(text, "- [x] {name}"),
            other => writeln!(text, "- [ ] {name} ({})", other.word()),
        };
    }
    let gate = |check: &GateCheck| format!("{} {}", flat(&check.name), check.standing);
    let gates: Vec<String> = spec.gates.iter().map(gate).collect();
    let gates =
        if gates.is_empty() { "none, so nothing is proven".into() } else { gates.join(", ") };
    let _ = writeln!(text, "\nGates: {gates}");
    if let Some(commit) = spec.commit {
        let _ = writeln!(text, "\nCommit: {}", flat(commit));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{FailingNames, GateStanding};

    fn task(name: &str, state: TaskState) -> Task {
        Task { name: name.into(), state, ..Task::default() }
    }

    fn done<'a>(tasks: &'a [&'a Task], gates: &'a [GateCheck]) -> CompletedSpec<'a> {
        let commit = Some("ralph: User Avatar Upload");
        CompletedSpec { date: "2026-01-17", name: "User Avatar Upload", tasks, gates, commit }
    }

    fn check(name: &str, standing: GateStanding) -> GateCheck {
        GateCheck { name: name.into(), standing, ..GateCheck::default() }
    }

    #[test]
    fn a_finished_spec_gets_its_tasks_gates_and_commit() {
        let (one, two) =
            (task("add the field", TaskState::Accepted), task("docs", TaskState::Skipped));
        let gates = [
            check("test", GateStanding::Green),
            check("lint", GateStanding::Tolerated { failing: FailingNames::default() }),
        ];
        assert_eq!(
            spec_done("", &done(&[&one, &two], &gates)),
            "# Progress\n\n## 2026-01-17 User Avatar Upload\n\nTasks:\n\n- [x] add the field\n\
             - [ ] docs (skipped)\n\nGates: test passed, lint failed, not required\n\n\
             Commit: ralph: User Avatar Upload\n"
        );
    }

    #[test]
    fn what_was_in_the_file_stays_and_the_new_section_is_the_last() {
        for old in ["# My log", "# My log\n", "# My log\n\n"] {
            let new = spec_done(old, &done(&[], &[]));
            assert!(new.starts_with("# My log\n\n## 2026-01-17 User Avatar Upload\n"), "{new}");
            assert!(new.contains("Gates: none, so nothing is proven"), "{new}");
        }
    }

    #[test]
    fn telling_it_again_after_a_crash_changes_nothing() {
        let one = task("add", TaskState::Accepted);
        let first = spec_done("# P\n", &done(&[&one], &[check("test", GateStanding::Green)]));
        assert_eq!(spec_done(&first, &done(&[&one], &[check("test", GateStanding::Green)])), first);
        let later = spec_done(&first, &CompletedSpec { name: "Another", ..done(&[&one], &[]) });
        assert_eq!(spec_done(&later, &done(&[&one], &[check("test", GateStanding::Green)])), later);
    }
}
