//! Findings about ralph's own files, the gates, the lanes and the disk.

use std::time::Duration;

use super::{DoctorFinding, FindingArea, FindingState, Remedy};
use crate::control::{LoopCommand, QueuedCommand};
use crate::cycle::{AttemptPhase, History, RunCommand, RunState};
use crate::gate::{GateEnding, GateNeed, GateRunResult};
use crate::memory::index::IndexViolation;
use crate::plan::{Plan, PlanFinding, PlanSeverity};
use crate::words::{count, disk_size, took};

/// Less than this, and a loop cannot go on for long.
const TIGHT: u64 = 1 << 30;
/// Less than this, and the next write may fail.
const FULL: u64 = 100 << 20;

/// Judge the free space at a place. `free` is in bytes.
pub fn disk(place: &str, free: u64) -> DoctorFinding {
    let shown = disk_size(free);
    let state = match free {
        0..FULL => FindingState::Problem,
        FULL..TIGHT => FindingState::Warning,
        TIGHT.. => return DoctorFinding::ok(FindingArea::Disk, format!("{shown} free at {place}")),
    };
    let what = format!("only {shown} free at {place}");
    DoctorFinding::new(
        FindingArea::Disk,
        state,
        what,
        "make room; `ralph salvage prune --keep 10` gives some up",
    )
}

/// Nothing decides whether work is done.
pub fn no_gates() -> DoctorFinding {
    DoctorFinding::new(
        FindingArea::Gate,
        FindingState::Warning,
        "there is none, so nothing proves that work is done",
        "begin ralph.toml with a line such as: gates = [{ name = \"test\", command = \"make test\" }]",
    )
}

/// A gate that was run once, with the longest time that it may take.
pub fn gate(run: &GateRunResult, timeout: Duration) -> DoctorFinding {
    let check = &run.check;
    let limit = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let (name, time) = (&check.name, took(check.took_ms));
    let log = check.log.as_deref().unwrap_or("its log");
    let found =
        |state, what: String, fix: String| DoctorFinding::new(FindingArea::Gate, state, what, fix);
    let command = &check.command;
    match &check.ending {
        GateEnding::Code(0) if check.took_ms > limit / 2 => found(
            FindingState::Warning,
            format!("{name}: passed in {time}, more than half of its timeout"),
            format!("give gate {name} a longer `timeout` in ralph.toml"),
        ),
        GateEnding::Code(0) => {
            DoctorFinding::ok(FindingArea::Gate, format!("{name}: passed in {time}"))
        }
        _ if run.cannot_run() => found(
            FindingState::Problem,
            format!("{name}: cannot be run ({}): {}", check.ending.describe(), last_line(run)),
            format!("install what `{command}` needs, or correct the gate in ralph.toml"),
        ),
        GateEnding::TimedOut => found(
            FindingState::Problem,
            format!("{name}: did not end within {}", took(limit)),
            format!("see what hangs in {log}, or give it a longer `timeout` in ralph.toml"),
        ),
        GateEnding::Code(_) | GateEnding::Signal(_) | GateEnding::NotStarted(_) => {
            let counts = match check.need {
                GateNeed::Required => "only new failures will block work",
                GateNeed::Optional => "it is optional",
            };
            let how = check.ending.describe();
            let what = format!("{name}: fails already after {time} ({how}); {counts}");
            found(FindingState::Warning, what, format!("mend it first if you can: less {log}"))
        }
    }
}

/// A gate that could not be run in home, where the setup of a lane may install what it needs.
pub fn gate_before_setup(run: &GateRunResult) -> DoctorFinding {
    let name = &run.check.name;
    let what = format!(
        "{name}: cannot be run in your checkout ({}); it counts in a lane, where `setup` runs first",
        last_line(run)
    );
    DoctorFinding::new(FindingArea::Gate, FindingState::Unknown, what, "ralph doctor --compare")
}

/// The last thing that a gate said, which is mostly why; what is not there comes before the rest.
pub fn last_line(run: &GateRunResult) -> String {
    let mut lines = run.output.lines().rev();
    let absent = |line: &&str| ["not found", "No such file"].iter().any(|why| line.contains(why));
    let told = lines.clone().find(absent);
    let line = told.or_else(|| lines.find(|line| !line.trim().is_empty()));
    crate::text::clip(line.unwrap_or("it said nothing").trim(), 120)
}

/// Judge a plan by the flaws that `ralph validate` found in it.
pub fn plan(file: &str, plan: &Plan, flaws: &[PlanFinding]) -> DoctorFinding {
    let errors = flaws.iter().filter(|flaw| flaw.severity == PlanSeverity::Error).count();
    let first = flaws.iter().min_by_key(|flaw| flaw.severity != PlanSeverity::Error);
    let about = |state, number, noun| {
        let first = first.map(|flaw| format!(": line {}: {}", flaw.line, flaw.message));
        let what = format!("{file}: {}{}", count(number, noun), first.unwrap_or_default());
        DoctorFinding::new(FindingArea::Plan, state, what, format!("ralph validate --plan {file}"))
    };
    match (errors, flaws.len()) {
        (0, 0) => {
            let (tasks, issues) =
                (count(plan.tasks.len(), "task"), count(plan.issues.len(), "issue"));
            DoctorFinding::ok(FindingArea::Plan, format!("{file}: {tasks}, {issues}"))
        }
        (0, warnings) => about(FindingState::Warning, warnings, "warning"),
        (errors, _) => about(FindingState::Problem, errors, "error"),
    }
}

/// Judge the knowledge index. `entries` is the number of its entries that are in force.
pub fn violations(found: &[IndexViolation], entries: usize) -> DoctorFinding {
    match found {
        [] => DoctorFinding::ok(FindingArea::Knowledge, format!("{entries} in force")),
        [first, rest @ ..] => {
            let more =
                if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let what = format!("{}: {}{more}", first.file, first.message);
            DoctorFinding::new(
                FindingArea::Knowledge,
                FindingState::Problem,
                what,
                "ralph knowledge verify",
            )
        }
    }
}

/// Judge the journal: report an attempt or a question that an interrupted run left open.
///
/// The caller has made sure that no loop runs.
pub fn interrupted(history: &History) -> DoctorFinding {
    if let Some(open) = &history.open {
        let (iteration, task) = (open.started.iteration, &open.started.task);
        let state = match open.phase() {
            AttemptPhase::Backend => "its backend was at work",
            AttemptPhase::Gates => "its work was not judged",
            AttemptPhase::Landing => "its work was about to be committed",
            AttemptPhase::RollingBack => "the tree was being put back",
        };
        let what = format!("iteration {iteration} ({task}) was interrupted: {state}");
        let fix = format!("ralph {}, which goes on from there", RunCommand::last(history));
        return DoctorFinding::new(FindingArea::Journal, FindingState::Warning, what, fix);
    }
    if let Some(asked) = &history.consulting {
        let what = format!("agents were asked ({}) when ralph was killed", asked.role);
        let fix = format!("ralph {}, which goes on from there", RunCommand::last(history));
        return DoctorFinding::new(FindingArea::Journal, FindingState::Warning, what, fix);
    }
    let attempts = count(history.attempts.len(), "attempt");
    DoctorFinding::ok(FindingArea::Journal, format!("{attempts}, nothing interrupted"))
}

/// Commits that landed and have not arrived.
pub fn waiting(history: &History) -> Option<DoctorFinding> {
    let line = history.arrival.as_ref()?;
    let run = match history.run_end {
        Some(_) => RunState::Ended,
        None => RunState::Open,
    };
    let killed = line.open_arrival.is_some() || line.open_replay.is_some();
    let (wait, commits) = (line.waits_for(run), line.waiting_commits());
    let (what, fix) = match (killed, wait) {
        (true, _) => (
            format!("the arrival of commits on {} was interrupted", line.branch),
            "ralph land, which finishes it or puts the files back first".to_owned(),
        ),
        (false, Some(wait)) => {
            let way = wait.way_out(commits);
            (wait.reason(commits), format!("{}, which {}", way.command, way.effect))
        }
        (false, None) => return None,
    };
    Some(DoctorFinding::new(FindingArea::Journal, FindingState::Warning, what, fix))
}

/// Report the number of lanes of the project and the disk space that they use.
pub fn lanes(number: usize, bytes: u64, folder: &str) -> DoctorFinding {
    let what = match number {
        0 => format!("none yet; the next run makes one in {folder}"),
        n => format!("{} in {folder}, {} on disk", count(n, "lane"), disk_size(bytes)),
    };
    DoctorFinding::ok(FindingArea::Lanes, what)
}

/// Lanes of repositories that are gone.
pub fn orphaned_lanes(folders: &[String]) -> Option<DoctorFinding> {
    let named = match folders {
        [] => return None,
        [one] => format!("lanes of a repository that is gone, in {one}"),
        [first, rest @ ..] => format!(
            "lanes of {} repositories that are gone, in {first} and {} more",
            folders.len(),
            count(rest.len(), "folder")
        ),
    };
    let finding =
        DoctorFinding::new(FindingArea::Lanes, FindingState::Warning, named, "ralph doctor --fix");
    Some(finding.mended_by(Remedy::OrphanedLanes))
}

/// Whether a command was meant for a loop that is gone, or can be read by none.
pub fn is_old(entry: &QueuedCommand) -> bool {
    let gone =
        [LoopCommand::Pause, LoopCommand::Resume, LoopCommand::Stop, LoopCommand::KillAttempt];
    entry.read.as_ref().map_or(true, |command| gone.contains(command))
}

/// Commands that wait although no loop is at work. Some are meant for the next one.
pub fn commands(queue: &[QueuedCommand]) -> DoctorFinding {
    let old: Vec<&QueuedCommand> = queue.iter().filter(|entry| is_old(entry)).collect();
    if old.is_empty() {
        return DoctorFinding::ok(
            FindingArea::Control,
            match queue.len() {
                0 => "no commands wait".to_owned(),
                n => format!("{} for the next loop", count(n, "command")),
            },
        );
    }
    let words: Vec<&str> =
        old.iter().map(|e| e.read.as_ref().map_or("unreadable", LoopCommand::word)).collect();
    let what =
        format!("{} for a loop that is gone: {}", count(old.len(), "command"), words.join(", "));
    DoctorFinding::new(FindingArea::Control, FindingState::Warning, what, "ralph doctor --fix")
        .mended_by(Remedy::OldCommands)
}
