//! Faults by name: each is a few steps, and most of them end the run.
//!
//! A rule can name one as a step, and chance (a seed) can put one between the steps of any rule, so
//! each must make sense in a project that nobody here has seen.

use std::time::Duration;

use super::line::SimVerdict;
use super::scenario::{
    ChaosSettings, ClaimStep, EscapeMethod, GarbageOutput, ScenarioStep, SimAnswer, SimClaim,
    SimFailure, SimSignal, SimSpawn, SpawnStdout, ToolAction,
};
use crate::word_enum::word_enum;

/// Command of a process that a fault leaves behind. The process ends by itself after ten minutes.
const STRAY: &str = "exec sleep 600";

/// Bytes of the line of [`Fault::GiantLine`].
const GIANT: u64 = 64 << 20;

const TEST_FILES: &str =
    "find . -path ./.git -prune -o -type f \\( -name '*test*' -o -path '*/tests/*' \\)";

macro_rules! faults {
    ($( $(#[doc = $doc:literal])+ $name:ident = $word:tt, )+) => {
        word_enum! {
            /// Way in which the sim misbehaves.
            Fault { $( $(#[doc = $doc])+ $name = $word, )+ }
        }

        impl Fault {
            /// Return a short description of the fault.
            pub fn about(self) -> &'static str {
                match self { $( Self::$name => concat!($($doc),+).trim_ascii(), )+ }
            }
        }
    };
}

faults! {
    /// Claims to be done without doing anything.
    Lie = "lie",
    /// Does nothing and claims nothing.
    Nothing = "nothing",
    /// Says that it cannot go on.
    Blocked = "blocked",
    /// Says that a part is left to do.
    NotComplete = "not_complete",
    /// Writes half a file and is killed (SIGKILL).
    Crash = "crash",
    /// Writes half a file and aborts (SIGABRT).
    Abort = "abort",
    /// Ends with exit code 0 before it has finished.
    EarlyExit = "early_exit",
    /// Never ends and never says anything again.
    Hang = "hang",
    /// Never ends, never says anything again and ignores SIGTERM.
    Stubborn = "stubborn",
    /// Leaves processes behind: ignoring SIGHUP, in another session, and forked twice.
    Orphans = "orphans",
    /// Leaves a process behind that keeps standard output open.
    HoldStdout = "hold_stdout",
    /// Prints lines that make no sense, then goes on.
    Garbage = "garbage",
    /// Prints half a line and ends.
    Cut = "cut",
    /// Prints output without end.
    Flood = "flood",
    /// Prints one line of 64 MB, then goes on.
    GiantLine = "giant_line",
    /// Hits the account's limit, which resets in an hour.
    UsageLimit = "usage_limit",
    /// Has no credentials.
    NotLoggedIn = "not_logged_in",
    /// Ends with an error of its model, after retries.
    ApiError = "api_error",
    /// Is not allowed to write.
    PermissionDenied = "permission_denied",
    /// Fills its context and ends.
    ContextFull = "context_full",
    /// Uses all its turns.
    MaxTurns = "max_turns",
    /// Answers with half a JSON object.
    WrongJson = "wrong_json",
    /// Empties every test file, then goes on.
    EditTests = "edit_tests",
    /// Deletes every test file, then goes on.
    DeleteTests = "delete_tests",
    /// Writes into `ralph/plan.jsonl`, then goes on.
    WriteLedger = "write_ledger",
    /// Deletes `.ralph`, then goes on.
    DeleteLedger = "delete_ledger",
    /// Commits everything itself, then goes on.
    GitCommit = "git_commit",
    /// Stashes everything, then goes on.
    GitStash = "git_stash",
    /// Makes another branch and switches to it, then goes on.
    GitBranch = "git_branch",
    /// Checks the last commit out without a branch, then goes on.
    GitCheckout = "git_checkout",
    /// Writes a file whose name is not UTF-8, then goes on.
    OddNames = "odd_names",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultContinuation {
    /// The rest of the rule follows.
    GoOn,
    End,
}

impl Fault {
    /// Return the steps of the fault, and whether the rule goes on after them.
    /// `rest` holds the steps that the fault interrupts.
    pub(super) fn steps(self, rest: &[ScenarioStep]) -> (Vec<ScenarioStep>, FaultContinuation) {
        if let Some(steps) = self.passing() {
            return (steps, FaultContinuation::GoOn);
        }
        let fail = |verdict| vec![ScenarioStep::Fail(SimFailure::plain(verdict))];
        let claim = |claim| vec![ScenarioStep::Claim(ClaimStep::plain(claim))];
        let steps = match self {
            Self::Lie => claim(SimClaim::Done),
            Self::Blocked => claim(SimClaim::Blocked),
            Self::NotComplete => claim(SimClaim::NotComplete),
            Self::Crash => vec![half(rest), ScenarioStep::Signal(SimSignal::Kill)],
            Self::Abort => vec![half(rest), ScenarioStep::Signal(SimSignal::Abort)],
            Self::EarlyExit => vec![ScenarioStep::Exit(0)],
            // That it ignores SIGTERM is set for the whole process, see `expand`.
            Self::Hang | Self::Stubborn => vec![ScenarioStep::Hang],
            Self::Cut => vec![ScenarioStep::Garbage(GarbageOutput::Cut), ScenarioStep::Exit(0)],
            Self::Flood => vec![ScenarioStep::Flood(None)],
            Self::UsageLimit => vec![ScenarioStep::Fail(SimFailure {
                resets_in: Some(Duration::from_secs(3600)),
                ..SimFailure::plain(SimVerdict::RateLimit)
            })],
            Self::NotLoggedIn => fail(SimVerdict::NotLoggedIn),
            Self::ApiError => {
                let retry = ScenarioStep::Retry("the model is overloaded".into());
                let mut steps = vec![retry.clone(), retry];
                steps.extend(fail(SimVerdict::ApiError));
                steps
            }
            Self::PermissionDenied => vec![ScenarioStep::Denied("write".into(), None)],
            Self::ContextFull => {
                let mut steps = vec![ScenarioStep::Context(vec![40, 70, 85, 95, 99])];
                steps.extend(fail(SimVerdict::ContextLimit));
                steps
            }
            Self::MaxTurns => fail(SimVerdict::MaxTurns),
            Self::WrongJson => {
                vec![ScenarioStep::Answer(SimAnswer::Text(
                    "{\"task_completed\": {\"task_id\": ".into(),
                ))]
            }
            _ => vec![ScenarioStep::Say("I had a look.".into())],
        };
        (steps, FaultContinuation::End)
    }

    /// The steps of a fault after which the work goes on.
    fn passing(self) -> Option<Vec<ScenarioStep>> {
        let shell = |command: &str| {
            vec![ScenarioStep::Act(ToolAction::Shell { command: command.to_owned() })]
        };
        let stray = |escape, stdout| {
            ScenarioStep::Spawn(SimSpawn { escape, command: STRAY.to_owned(), stdout })
        };
        Some(match self {
            Self::Orphans => [EscapeMethod::Nohup, EscapeMethod::Setsid, EscapeMethod::DoubleFork]
                .map(|escape| stray(escape, SpawnStdout::Closed))
                .to_vec(),
            Self::HoldStdout => vec![stray(EscapeMethod::Setsid, SpawnStdout::Held)],
            Self::Garbage => [
                GarbageOutput::Utf8,
                GarbageOutput::HalfJson,
                GarbageOutput::Json,
                GarbageOutput::Binary,
            ]
            .map(ScenarioStep::Garbage)
            .to_vec(),
            Self::GiantLine => vec![ScenarioStep::Giant(GIANT)],
            Self::EditTests => {
                let empty = "-exec sh -c 'for f; do : >\"$f\"; done' sh {} +";
                shell(&format!("{TEST_FILES} {empty}"))
            }
            Self::DeleteTests => shell(&format!("{TEST_FILES} -exec rm -f {{}} +")),
            Self::WriteLedger => vec![ScenarioStep::Act(ToolAction::Append {
                path: "ralph/plan.jsonl".into(),
                text: "{\"t\":\"delete\",\"id\":\"{task}\",\"at\":\"2025-01-01T00:00:00Z\"}\n"
                    .into(),
            })],
            Self::DeleteLedger => {
                vec![ScenarioStep::Act(ToolAction::Delete { path: ".ralph".into() })]
            }
            Self::GitCommit => shell(
                "git add -A && git -c user.name=sim -c user.email=sim@localhost commit -qm sim",
            ),
            Self::GitStash => {
                shell("git -c user.name=sim -c user.email=sim@localhost stash push -qu")
            }
            Self::GitBranch => shell("git checkout -qB sim-branch"),
            Self::GitCheckout => shell("git checkout -q --detach"),
            Self::OddNames => vec![ScenarioStep::Act(ToolAction::Write {
                path: "odd-\\xff\\xfe.txt".into(),
                text: "odd\n".into(),
                mode: None,
            })],
            _ => return None,
        })
    }
}

/// Half of the next edit that would have come.
fn half(rest: &[ScenarioStep]) -> ScenarioStep {
    let edit = rest.iter().find_map(|step| match step {
        ScenarioStep::Act(
            ToolAction::Write { path, text, .. } | ToolAction::Append { path, text },
        ) => Some((path, text)),
        ScenarioStep::Act(ToolAction::Patch { path, with, .. }) => Some((path, with)),
        _ => None,
    });
    match edit {
        Some((path, text)) => ScenarioStep::Half { path: path.clone(), text: text.clone() },
        None => ScenarioStep::Half {
            path: "half.txt".into(),
            text: "half of this was meant to be here\n".into(),
        },
    }
}

/// Default rate of each fault, as a part of 1.
/// None of these faults needs a time limit to end.
pub(super) const RATES: [(Fault, f64); 12] = [
    (Fault::Crash, 0.08),
    (Fault::Lie, 0.06),
    (Fault::Nothing, 0.04),
    (Fault::NotComplete, 0.02),
    (Fault::Abort, 0.03),
    (Fault::EarlyExit, 0.03),
    (Fault::Garbage, 0.03),
    (Fault::Cut, 0.03),
    (Fault::WrongJson, 0.03),
    (Fault::WriteLedger, 0.03),
    (Fault::GitCommit, 0.03),
    (Fault::OddNames, 0.02),
];

/// The fault that strikes this attempt on this task and after which of `steps` it does, if any.
pub(super) fn strike(
    chaos: &ChaosSettings,
    task: &str,
    attempt: u64,
    steps: &[ScenarioStep],
) -> Option<(usize, Fault)> {
    let seed = chaos.seed?;
    if attempt > chaos.attempts {
        return None;
    }
    let mut left = unit(hash(&[&seed.to_string(), task, &attempt.to_string(), "which"]));
    let (fault, _) = chaos.rates.iter().copied().find(|(_, rate)| {
        let hit = left < *rate;
        left -= rate;
        hit
    })?;
    let last = |step: &ScenarioStep| {
        matches!(step, ScenarioStep::Claim(_) | ScenarioStep::Answer(_) | ScenarioStep::Fail(_))
    };
    let places = steps.iter().position(last).unwrap_or(steps.len()) as u64 + 1;
    let place = hash(&[&seed.to_string(), task, &attempt.to_string(), "where"]) % places;
    // A lie is one only when nothing was done.
    let place = if matches!(fault, Fault::Lie | Fault::Nothing) { 0 } else { place };
    Some((usize::try_from(place).unwrap_or(0), fault))
}

/// A number from texts: the same on every machine and in every version.
pub(super) fn hash(parts: &[&str]) -> u64 {
    let mut h: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0]) {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    // The last bytes would otherwise hardly reach the high bits.
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

/// A number from 0 up to 1.
fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
