//! The laws that every plan format obeys, whatever the text.

use ralph_core::format::Codec;
use ralph_core::plan::{Edit, Id, Issue, Plan, Retirement, Task};

/// A time as the host would give it.
const NOW: &str = "2026-01-02T03:04:05Z";

/// Parsing never panics; a text that parses comes back byte for byte when nothing is edited; and
/// whatever an edit makes of it parses again, with the tasks that should be there.
pub fn codec_laws(codec: &dyn Codec, text: &str) {
    let Ok(plan) = codec.parse(text) else { return };
    assert_eq!(codec.edit(text, &[]).as_deref(), Ok(text), "no edits, but another text");
    // Words for the edits come from the input, so that quotes, line ends and markup get in.
    let words: String = text.chars().rev().take(24).collect();
    for (edit, change) in edits(&plan, &words) {
        let Ok(new) = codec.edit(text, std::slice::from_ref(&edit)) else { continue };
        let again = codec.parse(&new).unwrap_or_else(|e| {
            panic!("{edit:?} made a text that does not parse: {e}\n--- old\n{text}\n--- new\n{new}")
        });
        let wanted = plan.tasks.len().checked_add_signed(change).unwrap_or(0);
        // A retired task may leave the file or stay in it, as the format likes.
        let fits = again.tasks.len() == wanted
            || (matches!(edit, Edit::Retire { .. }) && again.tasks.len() == plan.tasks.len());
        assert!(fits, "{edit:?} left {} tasks\n--- old\n{text}\n--- new\n{new}", again.tasks.len());
    }
}

/// One edit of each kind that the plan can take, with the change it makes to the number of tasks.
fn edits(plan: &Plan, words: &str) -> Vec<(Edit, isize)> {
    let words = words.to_owned();
    let id = Id::new("t-fuzz");
    let mut edits = vec![
        (
            Edit::AddIssue(Issue {
                id: Id::new("i-fuzz"),
                desc: words.clone(),
                ..Issue::default()
            }),
            0,
        ),
        (Edit::AcceptSpec { spec: words.clone(), at: NOW.to_owned() }, 0),
    ];
    if plan.task(&id).is_none() {
        let task = Task {
            id,
            name: words.clone(),
            notes: Some(words.clone()),
            accept: vec![words.clone()],
            ..Task::default()
        };
        let after = plan.tasks.first().map(|t| t.id.clone());
        edits.push((Edit::AddTask { task: task.clone(), after: None }, 1));
        edits.push((Edit::AddTask { task, after }, 1));
    }
    if let Some(task) = plan.tasks.last() {
        let renamed = Task { name: words.clone(), notes: None, ..task.clone() };
        edits.push((Edit::UpdateTask(renamed), 0));
        let (id, at) = (task.id.clone(), NOW.to_owned());
        for how in [Retirement::Accepted, Retirement::Failed, Retirement::Deleted] {
            let reason = Some(words.clone());
            edits.push((Edit::Retire { id: id.clone(), how, reason, at: at.clone() }, -1));
        }
        edits.push((Edit::Reject { id, reason: words, at }, 0));
    }
    edits
}
