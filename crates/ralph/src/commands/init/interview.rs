//! The questions of `ralph init` on a terminal: which backend, which gates, a first spec.
//!
//! Every question has an answer that Enter takes, and nothing is written before the last one. A gate is
//! not believed but tried: once, here, with its result and its time.

use std::io::{BufRead, Write};
use std::time::Duration;

use ralph_core::config::{BackendKind, LaneSettings};
use ralph_core::doctor::last_line;
use ralph_core::gate::{Gate, GateEnding, GateNeed, GateRunResult};
use ralph_core::init::{
    self, FirstSpec, IgnoreRulesState, InitRequest, LaneKey, ProjectSetup, STARTER_FILE,
};
use ralph_core::words::took;
use ralph_host::choice::BY_DEFAULT;
use ralph_host::gates::{GatePassSettings, run_gate};
use ralph_host::git::Repo;
use ralph_host::proc::{CancelToken, JobBounds, JobRunner, ScratchDirectory};

use super::commit::{CommitAnswer, CommitOffer};
use crate::commands::backends::{BackendListing, known_backends};
use crate::commands::lane_trial::{self, LaneTrialJob};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// Longest time that a gate gets here. In a loop it has its own.
const PATIENCE: Duration = Duration::from_secs(120);

/// Number of times that a question is asked when the answer is not understood.
const AGAIN: usize = 3;

/// Answer that the Enter key gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultAnswer {
    Yes,
    No,
}

/// A gate, and its result in home.
pub(super) type TriedGate = (Gate, GateRunResult);

/// Asks on one side, hears on the other.
pub(super) struct InitInterview<'i, W> {
    input: &'i mut dyn BufRead,
    output: W,
}

impl<'i, W: Write> InitInterview<'i, W> {
    pub(super) fn new(input: &'i mut dyn BufRead, output: W) -> Self {
        Self { input, output }
    }

    /// Ask everything that a new configuration depends on. The result is the gates that were kept, with
    /// their results in home.
    pub(super) fn ask(
        &mut self,
        context: &CommandContext,
        runner: &JobRunner,
        setup: &ProjectSetup,
        request: &mut InitRequest,
    ) -> Result<Vec<TriedGate>, CommandError> {
        self.say("A few questions; Enter takes the answer in [brackets]. Nothing is written yet.");
        // What another program was told is taken over with the rest.
        if setup.imported.is_empty() {
            request.backend = self.backend(&installed(context)?)?;
        }
        let tried = self.gates(context, runner, setup, request)?;
        self.lane(setup, request)?;
        if setup.create.iter().any(|file| file.path == STARTER_FILE) {
            self.say(&format!(
                "\nSpec: {STARTER_FILE} would show you what a good spec looks like."
            ));
            request.spec = match self.yes("Write it?", DefaultAnswer::Yes)? {
                true => FirstSpec::Starter,
                false => FirstSpec::None,
            };
        }
        Ok(tried)
    }

    /// Ask about each setting that makes a lane usable.
    fn lane(
        &mut self,
        setup: &ProjectSetup,
        request: &mut InitRequest,
    ) -> Result<(), CommandError> {
        let lane = &setup.lane;
        if lane.is_empty() {
            return Ok(());
        }
        self.say("\nLane: agents work in a checkout of their own. It has what is committed, and needs more:");
        let setup = lane.setup.iter().map(|command| (LaneKey::Setup, format!("setup: {command}")));
        let copy = (!lane.copy.is_empty()).then(|| {
            (LaneKey::Copy, format!("copy: {} (agents can read it)", lane.copy.join(", ")))
        });
        let link = (!lane.link.is_empty())
            .then(|| (LaneKey::Link, format!("link: {}", lane.link.join(", "))));
        for (key, words) in setup.chain(copy).chain(link) {
            self.say(&format!("  {}", out::clean(&words)));
            if !self.yes("  Keep it?", DefaultAnswer::Yes)? {
                request.declined.insert(key);
            }
        }
        Ok(())
    }

    /// Whether to commit. The files are written, so whoever went away has just not agreed.
    pub(super) fn commit(&mut self, offer: &CommitOffer) -> CommitAnswer {
        let Some((question, usual)) = offer.question() else { return CommitAnswer::Nothing };
        self.say("");
        match (self.yes(&question, usual), usual) {
            (Ok(true), DefaultAnswer::Yes) => CommitAnswer::Usual,
            (Ok(true), DefaultAnswer::No) => CommitAnswer::Everything,
            _ => CommitAnswer::Nothing,
        }
    }

    /// Run the kept gates once in a lane, if the person agrees.
    pub(super) fn try_in_lane(
        &mut self,
        context: &CommandContext,
        repo: &Repo<'_>,
        runner: &JobRunner,
        settings: LaneSettings,
        tried: &[TriedGate],
    ) -> Result<(), CommandError> {
        if tried.is_empty() || repo.unborn_files()?.is_some() {
            return Ok(());
        }
        let first = settings.setup.as_ref().map(|setup| format!(", after `{}`", out::clean(setup)));
        let first = first.unwrap_or_default();
        self.say("");
        let question = format!("Run the gates once in a lane{first}?");
        if !self.yes(&question, DefaultAnswer::Yes).unwrap_or_default() {
            self.say("`ralph doctor --compare` does it later.");
            return Ok(());
        }
        let logs = context.project.state_dir().join("init");
        // The logs of the last time.
        let _left = std::fs::remove_dir_all(&logs);
        let logs = logs.join("lane-gate");
        let job = LaneTrialJob { context, repo, runner, settings, logs };
        for finding in lane_trial::run(&job, tried) {
            self.say(&format!("  {}", out::clean(&finding.what)));
            if let Some(fix) = &finding.fix {
                self.say(&format!("    fix: {}", out::clean(fix)));
            }
        }
        Ok(())
    }

    /// Show what will be written and stop unless the person agrees.
    pub(super) fn agree(&mut self, setup: &ProjectSetup) -> Result<(), CommandError> {
        let new = setup.create.iter().map(|file| format!("create {}", file.path));
        let ignore = (setup.ignore == IgnoreRulesState::Lacking)
            .then(|| format!("add rules to {}", super::IGNORE));
        self.say("");
        for what in new.chain(ignore) {
            self.say(&format!("  {}", out::clean(&what)));
        }
        if self.yes("Do this?", DefaultAnswer::Yes)? { Ok(()) } else { Err(stopped()) }
    }

    fn backend(&mut self, found: &[BackendListing]) -> Result<Option<String>, CommandError> {
        let Some(first) = found.first() else {
            self.say("\nBackend: no coding agent is installed (claude, codex, gemini, opencode).");
            self.say("Install one later; `ralph backends` shows what is found.");
            return Ok(None);
        };
        let list: Vec<String> = found
            .iter()
            .map(|one| match &one.version {
                Some(version) => format!("{} {version}", one.name),
                None => one.name.clone(),
            })
            .collect();
        self.say(&format!("\nBackend: found {}.", list.join(", ")));
        for _ in 0..AGAIN {
            let answer = self.hear(&format!("Which one writes code? [{}] ", first.name))?;
            let known = found.iter().find(|one| one.name.eq_ignore_ascii_case(&answer));
            match known {
                _ if answer.is_empty() => return Ok(Some(first.name.clone())),
                Some(one) => return Ok(Some(one.name.clone())),
                None => self.say(&format!("There is no {} here.", out::clip(&answer, 40))),
            }
        }
        self.say(&format!("Taking {}.", first.name));
        Ok(Some(first.name.clone()))
    }

    fn gates(
        &mut self,
        context: &CommandContext,
        runner: &JobRunner,
        setup: &ProjectSetup,
        request: &mut InitRequest,
    ) -> Result<Vec<TriedGate>, CommandError> {
        let mut tried = Vec::new();
        if setup.gates.is_empty() {
            return Ok(tried);
        }
        let count = setup.gates.len();
        self.say(&format!(
            "\nGates: {count} found. They decide whether work is done, so each is tried once."
        ));
        for gate in &setup.gates {
            let _ = write!(
                self.output,
                "  {}: {} … ",
                out::clean(&gate.name),
                out::clean(&gate.command)
            )
            .and_then(|()| self.output.flush());
            let (gate, run) = try_once(context, runner, gate)?;
            let (words, usual) = match &setup.lane.setup {
                Some(_) if run.cannot_run() => (
                    format!(
                        "cannot be run here: {}; in a lane, setup runs first",
                        out::clean(&last_line(&run))
                    ),
                    DefaultAnswer::Yes,
                ),
                _ => verdict(&run),
            };
            self.say(&words);
            match self.yes("  Keep it?", usual)? {
                true => tried.push((gate, run)),
                false => drop(request.dropped.insert(gate.name)),
            }
        }
        Ok(tried)
    }

    fn yes(&mut self, question: &str, usual: DefaultAnswer) -> Result<bool, CommandError> {
        let choice = match usual {
            DefaultAnswer::Yes => "[Y/n]",
            DefaultAnswer::No => "[y/N]",
        };
        for _ in 0..AGAIN {
            match self.hear(&format!("{question} {choice} "))?.to_lowercase().as_str() {
                "" => return Ok(usual == DefaultAnswer::Yes),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.say("Please answer y or n."),
            }
        }
        Err(stopped())
    }

    /// Somebody who went away has not agreed to anything.
    fn hear(&mut self, question: &str) -> Result<String, CommandError> {
        let _ = write!(self.output, "{question}").and_then(|()| self.output.flush());
        let mut answer = String::new();
        match self.input.read_line(&mut answer) {
            Ok(bytes) if bytes > 0 => Ok(answer.trim().to_owned()),
            _ => Err(stopped()),
        }
    }

    fn say(&mut self, text: &str) {
        // Nobody can be told that the terminal is gone.
        let _ = writeln!(self.output, "{text}");
    }
}

fn stopped() -> CommandError {
    CommandError::new("stopped at your word; nothing was changed")
}

/// The coding agents that are installed, the usual one first.
fn installed(context: &CommandContext) -> Result<Vec<BackendListing>, CommandError> {
    let mut found: Vec<BackendListing> = known_backends(&context.config()?, context.place());
    found.retain(|one| {
        let sim = one.chosen.as_ref().is_ok_and(|chosen| chosen.kind == BackendKind::Sim);
        one.program.is_some() && one.chosen.is_ok() && !sim
    });
    let order = |one: &BackendListing| BY_DEFAULT.iter().position(|kind| kind.as_str() == one.name);
    found.sort_by_key(|one| order(one).unwrap_or(usize::MAX));
    Ok(found)
}

/// Run a gate that is not configured yet.
fn try_once(
    context: &CommandContext,
    runner: &JobRunner,
    gate: &init::ProposedGate,
) -> Result<TriedGate, CommandError> {
    let scratch = ScratchDirectory::new(&std::env::temp_dir())?;
    let run = GatePassSettings {
        surroundings: &[],
        cwd: context.project.root(),
        logs: &scratch.path().join("gate"),
        grace: JobBounds::default().grace,
        cancel: CancelToken::default(),
    };
    let gate = Gate {
        name: gate.name.clone(),
        command: gate.command.clone(),
        kind: gate.kind,
        need: GateNeed::Required,
        timeout: PATIENCE,
    };
    let result = run_gate(runner, &gate, &run, &mut |_| {})?;
    Ok((gate, result))
}

/// Describe the result of a gate, and choose the answer of the Enter key. It is no for a gate that
/// cannot run, because such a gate would stop every task.
fn verdict(run: &GateRunResult) -> (String, DefaultAnswer) {
    let (ending, time) = (&run.check.ending, took(run.check.took_ms));
    match ending {
        GateEnding::Code(0) => (format!("passed in {time}"), DefaultAnswer::Yes),
        _ if run.cannot_run() => {
            (format!("cannot be run: {}", out::clean(&last_line(run))), DefaultAnswer::No)
        }
        GateEnding::TimedOut => {
            (format!("not over after {time}; in a loop it may take 10 minutes"), DefaultAnswer::Yes)
        }
        GateEnding::Code(_) | GateEnding::Signal(_) | GateEnding::NotStarted(_) => (
            format!(
                "fails in {time} ({}); only failures that are new will count against work",
                ending.describe()
            ),
            DefaultAnswer::Yes,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, usual: DefaultAnswer) -> Option<bool> {
        let mut input = text.as_bytes();
        let mut interview = InitInterview::new(&mut input, Vec::new());
        interview.yes("Well?", usual).ok()
    }

    #[test]
    fn enter_takes_the_usual_answer_and_nonsense_is_asked_again() {
        for (text, usual, meant) in [
            ("\n", DefaultAnswer::Yes, Some(true)),
            ("\n", DefaultAnswer::No, Some(false)),
            ("Yes\r\n", DefaultAnswer::No, Some(true)),
            (" n \n", DefaultAnswer::Yes, Some(false)),
            ("what?\nyep\ny\n", DefaultAnswer::No, Some(true)),
            ("what?\nwhat?\nwhat?\ny\n", DefaultAnswer::Yes, None),
            ("", DefaultAnswer::Yes, None),
        ] {
            assert_eq!(answer(text, usual), meant, "{text:?}");
        }
    }
}
