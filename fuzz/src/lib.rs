//! The laws that every plan format obeys, whatever the text, and what the targets share.

use ralph_core::backend::BackendRequest;
use ralph_core::convert::convert;
use ralph_core::format::{EditError, PlanCodec, PlanFormat, codec};
use ralph_core::plan::{Id, Issue, Plan, PlanEdit, Retirement, Task};

/// A time as the host would give it.
const NOW: &str = "2026-01-02T03:04:05Z";

/// A plain request to a backend.
pub fn request() -> BackendRequest<'static> {
    BackendRequest { scratch: "/scratch", ..BackendRequest::plain("") }
}

/// Parsing never panics; a text that parses comes back byte for byte when nothing is edited; and
/// whatever an edit makes of it parses again and says the same about every task but the edited one.
pub fn codec_laws(codec: &dyn PlanCodec, text: &str) {
    let Ok(plan) = codec.parse(text) else { return };
    assert_eq!(codec.edit(text, &[]).as_deref(), Ok(text), "no edits, but another text");
    conversion_laws(&plan, text);
    // Words for the edits come from the input, so that quotes, line ends and markup get in.
    let words: String = text.chars().rev().take(24).collect();
    for edit in edits(&plan, &words) {
        let Ok(new) = codec.edit(text, std::slice::from_ref(&edit)) else { continue };
        let context = || format!("after {edit:?}\n--- old\n{text}\n--- new\n{new}");
        let again = match codec.parse(&new) {
            Ok(again) => again,
            Err(error) => panic!("the new text does not parse: {error}, {}", context()),
        };
        assert!(keeps_the_others(&edit, &plan, &again), "another task changed, {}", context());
        if let PlanEdit::UpdateTask(task) = &edit
            && plan.format != PlanFormat::Progress
        {
            let name = again.tasks.last().map(|t| &t.name);
            assert_eq!(name, Some(&task.name), "the name did not arrive, {}", context());
        }
    }
}

/// Converting never panics, and a task that the new file does not have is reported as lost.
fn conversion_laws(plan: &Plan, text: &str) {
    for to in PlanFormat::ALL {
        match convert(plan, text, to, "fuzz", NOW) {
            Ok(new) => match codec(to).parse(&new.text) {
                Ok(there) => assert!(
                    there.tasks.len() + there.tombstones.len() >= plan.tasks.len()
                        || !new.lost.is_empty(),
                    "a task was lost without a word: {plan:?}\n--- {to}\n{}",
                    new.text
                ),
                Err(error) => panic!("{to} cannot be read: {error}\n{}", new.text),
            },
            Err(EditError::Overlap(error)) => panic!("{to}: {error}: {plan:?}"),
            Err(_) => {}
        }
    }
}

/// One edit of each kind that the plan can take. Those of an existing task are of the last one.
fn edits(plan: &Plan, words: &str) -> Vec<PlanEdit> {
    let words = words.to_owned();
    let id = Id::new("t-fuzz");
    let mut edits = vec![
        PlanEdit::AddIssue(Issue {
            id: Id::new("i-fuzz"),
            desc: words.clone(),
            ..Issue::default()
        }),
        PlanEdit::AcceptSpec { spec: words.clone(), at: NOW.to_owned() },
        PlanEdit::UseSpec(words.clone()),
    ];
    let task = Task {
        id,
        name: words.clone(),
        notes: Some(words.clone()),
        accept: vec![words.clone()],
        ..Task::default()
    };
    let after = plan.tasks.first().map(|t| t.id.clone());
    edits.push(PlanEdit::AddTask { task: task.clone(), after: None });
    edits.push(PlanEdit::AddTask { task, after });
    if let Some(task) = plan.tasks.last() {
        edits.push(PlanEdit::UpdateTask(Task { name: words.clone(), ..task.clone() }));
        let (id, at) = (task.id.clone(), NOW.to_owned());
        for how in [Retirement::Accepted, Retirement::Failed, Retirement::Deleted] {
            let reason = Some(words.clone());
            edits.push(PlanEdit::Retire { id: id.clone(), how, reason, at: at.clone() });
        }
        edits.push(PlanEdit::Reject { id, reason: words, at });
    }
    edits
}

/// Whether every task that the edit is not about is still there, in order and as it was.
fn keeps_the_others(edit: &PlanEdit, old: &Plan, new: &Plan) -> bool {
    let mut others: Vec<&Task> = old.tasks.iter().collect();
    if matches!(edit, PlanEdit::UpdateTask(_) | PlanEdit::Retire { .. } | PlanEdit::Reject { .. }) {
        others.pop();
    }
    let mut found = new.tasks.iter();
    others.iter().all(|task| found.any(|other| same(task, other)))
}

/// Equal but for the place. progress.md derives ids from names, so these may be counted anew.
fn same(a: &Task, b: &Task) -> bool {
    let facts = |t: &Task| (t.name.clone(), t.state.clone(), t.notes.clone(), t.accept.clone());
    facts(a) == facts(b)
}
