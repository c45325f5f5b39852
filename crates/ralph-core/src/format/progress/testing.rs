//! Helpers for the tests of this format.

use super::{EditError, PlanCodec, ProgressCodec};
use crate::plan::{Id, Plan, PlanEdit, Task};

/// Test file that has every section of a progress file.
pub(super) const FULL: &str = include_str!("testdata/full.md");

/// The plan in `text`, which must be readable.
pub(super) fn plan(text: &str) -> Plan {
    ProgressCodec.parse(text).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

/// The names of the tasks in `text`.
pub(super) fn names(text: &str) -> Vec<String> {
    plan(text).tasks.into_iter().map(|t| t.name).collect()
}

/// The task of `text` whose name begins with `name`.
pub(super) fn task(text: &str, name: &str) -> Task {
    let found = plan(text).tasks.into_iter().find(|t| t.name.starts_with(name));
    found.unwrap_or_else(|| panic!("no task {name} in\n{text}"))
}

/// Return the id of the task with this name.
pub(super) fn id(text: &str, name: &str) -> Id {
    task(text, name).id
}

/// `text` after one edit that must work.
pub(super) fn edited(text: &str, edit: PlanEdit) -> String {
    try_edit(text, edit).unwrap_or_else(|e| panic!("{e} in\n{text}"))
}

pub(super) fn try_edit(text: &str, edit: PlanEdit) -> Result<String, EditError> {
    ProgressCodec.edit(text, &[edit])
}

/// `text` with the task called `name` changed by `change`.
pub(super) fn updated(text: &str, name: &str, change: impl FnOnce(&mut Task)) -> String {
    let mut task = task(text, name);
    change(&mut task);
    edited(text, PlanEdit::UpdateTask(task))
}

/// The lines that went (`-`) and came (`+`), in file order; all others are the same, byte by byte.
pub(super) fn changes(old: &str, new: &str) -> Vec<String> {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common[i + 1][j] >= common[i][j + 1]) {
            out.push(format!("-{}", a[i].trim_end_matches(['\n', '\r'])));
            i += 1;
        } else {
            out.push(format!("+{}", b[j].trim_end_matches(['\n', '\r'])));
            j += 1;
        }
    }
    out
}
