//! Findings about ralph's own files, the gates, the lanes and the disk.

use std::time::Duration;

use super::{Area, Finding, Remedy, State};
use crate::control::{Command, Entry};
use crate::cycle::{History, Phase, RunCommand, RunState};
use crate::gate::{Ending, GateRunResult, Need};
use crate::memory::index::Violation;
use crate::plan::{Finding as Flaw, Plan, Severity};
use crate::words::{count, disk_size, took};

/// Less than this, and a loop cannot go on for long.
const TIGHT: u64 = 1 << 30;
/// Less than this, and the next write may fail.
const FULL: u64 = 100 << 20;

/// Judge the free space at a place. `free` is in bytes.
pub fn disk(place: &str, free: u64) -> Finding {
    let shown = disk_size(free);
    let state = match free {
        0..FULL => State::Problem,
        FULL..TIGHT => State::Warning,
        TIGHT.. => return Finding::ok(Area::Disk, format!("{shown} free at {place}")),
    };
    let what = format!("only {shown} free at {place}");
    Finding::new(
        Area::Disk,
        state,
        what,
        "make room; `ralph salvage prune --keep 10` gives some up",
    )
}

/// Nothing decides whether work is done.
pub fn no_gates() -> Finding {
    Finding::new(
        Area::Gate,
        State::Warning,
        "there is none, so nothing proves that work is done",
        "begin ralph.toml with a line such as: gates = [{ name = \"test\", command = \"make test\" }]",
    )
}

/// A gate that was run once, with the longest time that it may take.
pub fn gate(run: &GateRunResult, timeout: Duration) -> Finding {
    let check = &run.check;
    let limit = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let (name, time) = (&check.name, took(check.took_ms));
    let log = check.log.as_deref().unwrap_or("its log");
    let found = |state, what: String, fix: String| Finding::new(Area::Gate, state, what, fix);
    let command = &check.command;
    match &check.ending {
        Ending::Code(0) if check.took_ms > limit / 2 => found(
            State::Warning,
            format!("{name}: passed in {time}, more than half of its timeout"),
            format!("give gate {name} a longer `timeout` in ralph.toml"),
        ),
        Ending::Code(0) => Finding::ok(Area::Gate, format!("{name}: passed in {time}")),
        _ if run.cannot_run() => found(
            State::Problem,
            format!("{name}: cannot be run ({}): {}", check.ending.describe(), last_line(run)),
            format!("install what `{command}` needs, or correct the gate in ralph.toml"),
        ),
        Ending::TimedOut => found(
            State::Problem,
            format!("{name}: did not end within {}", took(limit)),
            format!("see what hangs in {log}, or give it a longer `timeout` in ralph.toml"),
        ),
        Ending::Code(_) | Ending::Signal(_) | Ending::NotStarted(_) => {
            let counts = match check.need {
                Need::Required => "only new failures will block work",
                Need::Optional => "it is optional",
            };
            let how = check.ending.describe();
            let what = format!("{name}: fails already after {time} ({how}); {counts}");
            found(State::Warning, what, format!("mend it first if you can: less {log}"))
        }
    }
}

/// A gate that could not be run in home, where the setup of a lane may install what it needs.
pub fn gate_before_setup(run: &GateRunResult) -> Finding {
    let name = &run.check.name;
    let what = format!(
        "{name}: cannot be run in your checkout ({}); it counts in a lane, where `setup` runs first",
        last_line(run)
    );
    Finding::new(Area::Gate, State::Unknown, what, "ralph doctor --compare")
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
pub fn plan(file: &str, plan: &Plan, flaws: &[Flaw]) -> Finding {
    let errors = flaws.iter().filter(|flaw| flaw.severity == Severity::Error).count();
    let first = flaws.iter().min_by_key(|flaw| flaw.severity != Severity::Error);
    let about = |state, number, noun| {
        let first = first.map(|flaw| format!(": line {}: {}", flaw.line, flaw.message));
        let what = format!("{file}: {}{}", count(number, noun), first.unwrap_or_default());
        Finding::new(Area::Plan, state, what, format!("ralph validate --plan {file}"))
    };
    match (errors, flaws.len()) {
        (0, 0) => {
            let (tasks, issues) =
                (count(plan.tasks.len(), "task"), count(plan.issues.len(), "issue"));
            Finding::ok(Area::Plan, format!("{file}: {tasks}, {issues}"))
        }
        (0, warnings) => about(State::Warning, warnings, "warning"),
        (errors, _) => about(State::Problem, errors, "error"),
    }
}

/// Judge the knowledge index. `entries` is the number of its entries that are in force.
pub fn violations(found: &[Violation], entries: usize) -> Finding {
    match found {
        [] => Finding::ok(Area::Knowledge, format!("{entries} in force")),
        [first, rest @ ..] => {
            let more =
                if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let what = format!("{}: {}{more}", first.file, first.message);
            Finding::new(Area::Knowledge, State::Problem, what, "ralph knowledge verify")
        }
    }
}

/// Judge the journal: report an attempt or a question that an interrupted run left open.
///
/// The caller has made sure that no loop runs.
pub fn interrupted(history: &History) -> Finding {
    if let Some(open) = &history.open {
        let (iteration, task) = (open.started.iteration, &open.started.task);
        let state = match open.phase() {
            Phase::Backend => "its backend was at work",
            Phase::Gates => "its work was not judged",
            Phase::Landing => "its work was about to be committed",
            Phase::RollingBack => "the tree was being put back",
        };
        let what = format!("iteration {iteration} ({task}) was interrupted: {state}");
        let fix = format!("ralph {}, which goes on from there", RunCommand::last(history));
        return Finding::new(Area::Journal, State::Warning, what, fix);
    }
    if let Some(asked) = &history.consulting {
        let what = format!("agents were asked ({}) when ralph was killed", asked.role);
        let fix = format!("ralph {}, which goes on from there", RunCommand::last(history));
        return Finding::new(Area::Journal, State::Warning, what, fix);
    }
    let attempts = count(history.attempts.len(), "attempt");
    Finding::ok(Area::Journal, format!("{attempts}, nothing interrupted"))
}

/// Commits that landed and have not arrived.
pub fn waiting(history: &History) -> Option<Finding> {
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
    Some(Finding::new(Area::Journal, State::Warning, what, fix))
}

/// Report the number of lanes of the project and the disk space that they use.
pub fn lanes(number: usize, bytes: u64, folder: &str) -> Finding {
    let what = match number {
        0 => format!("none yet; the next run makes one in {folder}"),
        n => format!("{} in {folder}, {} on disk", count(n, "lane"), disk_size(bytes)),
    };
    Finding::ok(Area::Lanes, what)
}

/// Lanes of repositories that are gone.
pub fn orphaned_lanes(folders: &[String]) -> Option<Finding> {
    let named = match folders {
        [] => return None,
        [one] => format!("lanes of a repository that is gone, in {one}"),
        [first, rest @ ..] => format!(
            "lanes of {} repositories that are gone, in {first} and {} more",
            folders.len(),
            count(rest.len(), "folder")
        ),
    };
    let finding = Finding::new(Area::Lanes, State::Warning, named, "ralph doctor --fix");
    Some(finding.mended_by(Remedy::OrphanedLanes))
}

/// Whether a command was meant for a loop that is gone, or can be read by none.
pub fn is_old(entry: &Entry) -> bool {
    let gone = [Command::Pause, Command::Resume, Command::Stop, Command::KillAttempt];
    entry.read.as_ref().map_or(true, |command| gone.contains(command))
}

/// Commands that wait although no loop is at work. Some are meant for the next one.
pub fn commands(queue: &[Entry]) -> Finding {
    let old: Vec<&Entry> = queue.iter().filter(|entry| is_old(entry)).collect();
    if old.is_empty() {
        return Finding::ok(
            Area::Control,
            match queue.len() {
                0 => "no commands wait".to_owned(),
                n => format!("{} for the next loop", count(n, "command")),
            },
        );
    }
    let words: Vec<&str> =
        old.iter().map(|e| e.read.as_ref().map_or("unreadable", Command::word)).collect();
    let what =
        format!("{} for a loop that is gone: {}", count(old.len(), "command"), words.join(", "));
    Finding::new(Area::Control, State::Warning, what, "ralph doctor --fix")
        .mended_by(Remedy::OldCommands)
}
