//! Findings about leftovers of an earlier crash. No loop may run while they are collected.

use super::{DoctorFinding, FindingArea, FindingState, Remedy};
use crate::words::count;

/// Command that a finding recommends if `--fix` can fix it.
const MEND: &str = "ralph doctor --fix";

/// Most names that a finding tells.
const NAMED: usize = 5;

/// Leftovers of earlier runs, such as processes, unfinished files and old refs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLeftovers {
    /// Processes with the mark of this place: number and program.
    pub processes: Vec<(i32, String)>,
    /// Unfinished temporary files, and private directories of runs that are over.
    pub remains: Vec<String>,
    /// Files whose last line is unfinished.
    pub torn: Vec<String>,
    /// The journal's last line is unfinished.
    pub torn_journal: bool,
    /// The inbox is held; whether it is as commands have left it.
    pub held_inbox: Option<bool>,
    /// The plan is still watched for what a backend writes into it.
    pub watched_plan: bool,
    /// Damaged text that was put aside, for a person to look at.
    pub put_aside: Vec<String>,
    /// Refs that were kept for longer than configured.
    pub old_salvage: usize,
}

/// Return a finding for each kind of leftover, or a single OK finding if there are none.
pub fn leftovers(found: &RunLeftovers) -> Vec<DoctorFinding> {
    let mut all = Vec::new();
    let mut mendable = |what: String, remedy: Remedy| {
        let finding = DoctorFinding::new(FindingArea::Leftover, FindingState::Warning, what, MEND);
        all.push(finding.mended_by(remedy));
    };
    if !found.processes.is_empty() {
        let list = found.processes.iter().map(|(pid, name)| format!("{pid} ({name})"));
        let number = match found.processes.len() {
            1 => "1 process".to_owned(),
            n => format!("{n} processes"),
        };
        let what = format!("{number} of an earlier run: {}", named(list.collect()));
        mendable(what, Remedy::Processes);
    }
    if !found.remains.is_empty() {
        let what = format!("unfinished files of an earlier run: {}", named(found.remains.clone()));
        mendable(what, Remedy::Remains(found.remains.clone()));
    }
    if found.torn_journal {
        let what = "the last line of the journal is unfinished".to_owned();
        mendable(what, Remedy::TornJournal);
    }
    for file in &found.torn {
        let what = format!("the last line of {file} is unfinished");
        mendable(what, Remedy::TornRecords(file.clone()));
    }
    if found.held_inbox == Some(true) {
        let what = "the inbox is still held for a backend that is gone".to_owned();
        mendable(what, Remedy::HeldInbox);
    }
    if found.old_salvage > 0 {
        let refs = count(found.old_salvage, "ref");
        let what = format!("{refs} below refs/ralph/ that nobody needs any more");
        mendable(what, Remedy::OldSalvage);
    }
    all.extend(for_people(found));
    if all.is_empty() {
        all.push(DoctorFinding::ok(FindingArea::Leftover, "nothing is left of an earlier crash"));
    }
    all
}

/// Return the findings that `--fix` cannot fix, because a person or the next loop must decide.
fn for_people(found: &RunLeftovers) -> Vec<DoctorFinding> {
    let mut all = Vec::new();
    let mut tell = |state, what: String, fix: String| {
        all.push(DoctorFinding::new(FindingArea::Leftover, state, what, fix));
    };
    if found.held_inbox == Some(false) {
        let what = "a backend wrote the inbox by hand before ralph was killed".to_owned();
        let fix = "ralph agent, which puts back what commands had made of it and tells the rest";
        tell(FindingState::Warning, what, fix.to_owned());
    }
    if found.watched_plan {
        let what = "a backend was at work on the plan when ralph was killed".to_owned();
        let fix = "ralph build, which takes back what it wrote there by hand";
        tell(FindingState::Warning, what, fix.to_owned());
    }
    for file in &found.put_aside {
        let what = format!("{file} has what could not be read");
        tell(FindingState::Warning, what, format!("look at it, then: rm {file}"));
    }
    all
}

fn named(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let list = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more == 0 { list } else { format!("{list} and {more} more") }
}
