//! A spec failed and its work is out of the tree: the plan says about it what it said before.
//!
//! What was claimed or accepted has no code any more, so it must not count when the spec is tried
//! again. Everything that belongs to other specs stays as it is now.

use std::collections::BTreeSet;

use crate::format::ParseError;
use crate::json::JsonFields;
use crate::lines::{self, JsonlRecord};

/// The text `now` of a plan.jsonl with the records of this spec as they were in the text `before`.
pub fn undone(now: &str, before: &str, spec: &str) -> Result<String, ParseError> {
    let (all, old) = (read(now)?, read(before)?);
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    for item in all.iter().chain(&old).filter(|item| item.spec.as_deref() == Some(spec)) {
        ids.extend(item.id.as_deref());
    }
    // What says nothing about its spec belonged to this one while it was the current one.
    let loose = old.iter().filter(|item| item.spec.is_none());
    ids.extend(loose.filter_map(|item| item.id.as_deref()));
    let mine = |item: &UndoRecord| match (&item.spec, &item.id) {
        (Some(own), _) => own == spec,
        (None, Some(id)) => ids.contains(id.as_str()),
        (None, None) => false,
    };
    let same = |item: &UndoRecord| all.iter().any(|other| mine(other) && other.line == item.line);
    let back: Vec<&UndoRecord> = old.iter().filter(|item| mine(item)).collect();
    if back.iter().all(|item| same(item)) && all.iter().filter(|i| mine(i)).count() == back.len() {
        return Ok(now.to_owned());
    }
    let mut out = String::with_capacity(now.len());
    let mut done = 0;
    for item in all.iter().filter(|item| mine(item)) {
        out.push_str(now.get(done..item.at.start).unwrap_or_default());
        done = item.at.end;
    }
    out.push_str(now.get(done..).unwrap_or_default());
    for item in back {
        let end = lines::missing_end(&out);
        out = format!("{out}{end}{}{}", item.line, crate::text::newline(now));
    }
    Ok(out)
}

/// A record that is about a task, an issue or a spec as a whole.
struct UndoRecord<'t> {
    id: Option<String>,
    spec: Option<String>,
    line: &'t str,
    at: std::ops::Range<usize>,
}

fn read(text: &str) -> Result<Vec<UndoRecord<'_>>, ParseError> {
    let mut items = Vec::new();
    for record in lines::records(text) {
        let record = record?;
        if matches!(&*record.kind, "task" | "issue" | "accept" | "reject" | "delete") {
            items.push(item(text, &record).map_err(|e| e.in_text(text))?);
        }
    }
    Ok(items)
}

fn item<'t>(
    text: &'t str,
    record: &JsonlRecord<'t>,
) -> Result<UndoRecord<'t>, crate::json::JsonError> {
    let fields = JsonFields::new(text, &record.node)?;
    let spec = match (fields.string("spec")?, fields.get("task")) {
        // A task that was given up is whole in the record that took it out of the plan.
        (None, Some(task)) => JsonFields::new(text, task)?.string("spec")?,
        (spec, _) => spec,
    };
    Ok(UndoRecord {
        id: fields.string("id")?,
        spec,
        line: text.get(record.line.span.clone()).unwrap_or_default(),
        at: record.line.with_end(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = r#"{"t":"accept","id":"t-zzzz","spec":"other.md","name":"Z"}"#;

    #[test]
    fn what_a_failed_spec_left_in_the_plan_goes_and_nothing_else() {
        let before = format!("{}\n{OTHER}\n", r#"{"t":"spec","spec":"a.md"}"#);
        let now = format!(
            "{}\n{OTHER}\n{}\n{}\n{}\n{}\n{}\n",
            r#"{"t":"spec","spec":"a.md"}"#,
            r#"{"t":"accept","id":"t-aaaa","spec":"a.md","name":"A"}"#,
            r#"{"t":"reject","id":"t-aaaa","name":"A","reason":"no"}"#,
            r#"{"t":"task","id":"t-bbbb","spec":"a.md","name":"B","s":"d"}"#,
            r#"{"t":"issue","id":"i-cccc","spec":"a.md","desc":"why"}"#,
            r#"{"t":"task","id":"t-yyyy","name":"somebody's own","s":"p"}"#,
        );
        let own = r#"{"t":"task","id":"t-yyyy","name":"somebody's own","s":"p"}"#;
        assert_eq!(undone(&now, &before, "a.md").unwrap(), format!("{before}{own}\n"));
    }

    #[test]
    fn what_a_task_that_was_given_up_left_goes_too() {
        let carried = r#"{"t":"task","id":"t-aaaa","spec":"a.md","name":"A","s":"p"}"#;
        let other = r#"{"t":"reject","id":"t-oooo","name":"O","reason":"no"}"#;
        let now = format!(
            "{OTHER}\n{}\n{other}\n{}\n",
            r#"{"t":"reject","id":"t-aaaa","name":"A","reason":"no"}"#,
            format_args!(r#"{{"t":"reject","id":"t-aaaa","reason":"no","task":{carried}}}"#),
        );
        let before = format!("{OTHER}\n");
        assert_eq!(undone(&now, &before, "a.md").unwrap(), format!("{OTHER}\n{other}\n"));
    }

    #[test]
    fn tasks_that_were_there_before_are_as_they_were() {
        let task = r#"{"t":"task","id":"t-aaaa","spec":"a.md","name":"A","s":"p"}"#;
        let loose = r#"{"t":"task","id":"t-llll","name":"L","s":"p"}"#;
        let before = format!("{task}\n{loose}\n{OTHER}\n");
        let now = format!(
            "{OTHER}\n{}\n{}",
            r#"{"t":"accept","id":"t-aaaa","spec":"a.md","name":"A"}"#,
            r#"{"t":"accept","id":"t-llll","name":"L"}"#,
        );
        assert_eq!(undone(&now, &before, "a.md").unwrap(), format!("{OTHER}\n{task}\n{loose}\n"));
    }

    #[test]
    fn done_twice_it_changes_nothing_more() {
        let task = r#"{"t":"task","id":"t-aaaa","spec":"a.md","name":"A","s":"p"}"#;
        let before = format!("{task}\n{OTHER}\n");
        let now = r#"{"t":"accept","id":"t-aaaa","spec":"a.md","name":"A"}"#;
        let once = undone(now, &before, "a.md").unwrap();
        assert_eq!(undone(&once, &before, "a.md").unwrap(), once);
        assert_eq!(undone(&before, &before, "a.md").unwrap(), before);
    }
}
