//! The questions of `ralph init` on a terminal: which backend, which gates, a first spec.
//!
//! Every question has an answer that Enter takes, and nothing is written before the last one. A gate is
//! not believed but tried: once, here, with its result and its time.

use std::io::{BufRead, Write};
use std::time::Duration;

use ralph_core::config::{BackendKind, LaneSettings};
use ralph_core::doctor::last_line;
use ralph_core::gate::{Ending, Gate, GateRunResult, Need};
use ralph_core::init::{self, FirstSpec, IgnoreRules, LaneKey, Request, STARTER_FILE, Setup};
use ralph_core::words::took;
use ralph_host::choice::BY_DEFAULT;
use ralph_host::gates::{GateRun, run_gate};
use ralph_host::git::Repo;
use ralph_host::proc::{Bounds, Cancel, Runner, Scratch};

use super::commit::{CommitAnswer, CommitOffer};
use crate::commands::backends::{Known, known_backends};
use crate::commands::lane_trial::{self, LaneTrialJob};
use crate::context::Context;
use crate::error::CommandError;
use crate::out;

/// Longest time that a gate gets here. In a loop it has its own.
const PATIENCE: Duration = Duration::from_secs(120);

/// Number of times that a question is asked when the answer is not understood.
const AGAIN: usize = 3;

/// Answer that the Enter key gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    Yes,
    No,
}

/// A gate, and its result in home.
pub(super) type TriedGate = (Gate, GateRunResult);

/// Asks on one side, hears on the other.
pub(super) struct Interview<'i, W> {
    input: &'i mut dyn BufRead,
    output: W,
}

impl<'i, W: Write> Interview<'i, W> {
    pub(super) fn new(input: &'i mut dyn BufRead, output: W) -> Self {
        Self { input, output }
    }

    /// Ask everything that a new configuration depends on. The result is the gates that were kept, with
    /// their results in home.
    pub(super) fn ask(
        &mut self,
        context: &Context,
        runner: &Runner,
        setup: &Setup,
        request: &mut Request,
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
            request.spec = match self.yes("Write it?", Usual::Yes)? {
                true => FirstSpec::Starter,
                false => FirstSpec::None,
            };
        }
        Ok(tried)
    }

    /// Ask about each setting that makes a lane usable.
    fn lane(&mut self, setup: &Setup, request: &mut Request) -> Result<(), CommandError> {
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
            if !self.yes("  Keep it?", Usual::Yes)? {
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
            (Ok(true), Usual::Yes) => CommitAnswer::Usual,
            (Ok(true), Usual::No) => CommitAnswer::Everything,
            _ => CommitAnswer::Nothing,
        }
    }

    /// Run the kept gates once in a lane, if the person agrees.
    pub(super) fn try_in_lane(
        &mut self,
        context: &Context,
        repo: &Repo<'_>,
        runner: &Runner,
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
        if !self.yes(&question, Usual::Yes).unwrap_or_default() {
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
    pub(super) fn agree(&mut self, setup: &Setup) -> Result<(), CommandError> {
        let new = setup.create.iter().map(|file| format!("create {}", file.path));
        let ignore = (setup.ignore == IgnoreRules::Lacking)
            .then(|| format!("add rules to {}", super::IGNORE));
        self.say("");
        for what in new.chain(ignore) {
            self.say(&format!("  {}", out::clean(&what)));
        }
        if self.yes("Do this?", Usual::Yes)? { Ok(()) } else { Err(stopped()) }
    }

    fn backend(&mut self, found: &[Known]) -> Result<Option<String>, CommandError> {
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
        context: &Context,
        runner: &Runner,
        setup: &Setup,
        request: &mut Request,
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
                    Usual::Yes,
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

    fn yes(&mut self, question: &str, usual: Usual) -> Result<bool, CommandError> {
        let choice = match usual {
            Usual::Yes => "[Y/n]",
            Usual::No => "[y/N]",
        };
        for _ in 0..AGAIN {
            match self.hear(&format!("{question} {choice} "))?.to_lowercase().as_str() {
                "" => return Ok(usual == Usual::Yes),
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
fn installed(context: &Context) -> Result<Vec<Known>, CommandError> {
    let mut found: Vec<Known> = known_backends(&context.config()?, context.place());
    found.retain(|one| {
        let sim = one.chosen.as_ref().is_ok_and(|chosen| chosen.kind == BackendKind::Sim);
        one.program.is_some() && one.chosen.is_ok() && !sim
    });
    let order = |one: &Known| BY_DEFAULT.iter().position(|kind| kind.as_str() == one.name);
    found.sort_by_key(|one| order(one).unwrap_or(usize::MAX));
    Ok(found)
}

/// Run a gate that is not configured yet.
fn try_once(
    context: &Context,
    runner: &Runner,
    gate: &init::Gate,
) -> Result<TriedGate, CommandError> {
    let scratch = Scratch::new(&std::env::temp_dir())?;
    let run = GateRun {
        surroundings: &[],
        cwd: context.project.root(),
        logs: &scratch.path().join("gate"),
        grace: Bounds::default().grace,
        cancel: Cancel::default(),
    };
    let gate = Gate {
        name: gate.name.clone(),
        command: gate.command.clone(),
        kind: gate.kind,
        need: Need::Required,
        timeout: PATIENCE,
    };
    let result = run_gate(runner, &gate, &run, &mut |_| {})?;
    Ok((gate, result))
}

/// Describe the result of a gate, and choose the answer of the Enter key. It is no for a gate that
/// cannot run, because such a gate would stop every task.
fn verdict(run: &GateRunResult) -> (String, Usual) {
    let (ending, time) = (&run.check.ending, took(run.check.took_ms));
    match ending {
        Ending::Code(0) => (format!("passed in {time}"), Usual::Yes),
        _ if run.cannot_run() => {
            (format!("cannot be run: {}", out::clean(&last_line(run))), Usual::No)
        }
        Ending::TimedOut => {
            (format!("not over after {time}; in a loop it may take 10 minutes"), Usual::Yes)
        }
        Ending::Code(_) | Ending::Signal(_) | Ending::NotStarted(_) => (
            format!(
                "fails in {time} ({}); only failures that are new will count against work",
                ending.describe()
            ),
            Usual::Yes,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, usual: Usual) -> Option<bool> {
        let mut input = text.as_bytes();
        let mut interview = Interview::new(&mut input, Vec::new());
        interview.yes("Well?", usual).ok()
    }

    #[test]
    fn enter_takes_the_usual_answer_and_nonsense_is_asked_again() {
        for (text, usual, meant) in [
            ("\n", Usual::Yes, Some(true)),
            ("\n", Usual::No, Some(false)),
            ("Yes\r\n", Usual::No, Some(true)),
            (" n \n", Usual::Yes, Some(false)),
            ("what?\nyep\ny\n", Usual::No, Some(true)),
            ("what?\nwhat?\nwhat?\ny\n", Usual::Yes, None),
            ("", Usual::Yes, None),
        ] {
            assert_eq!(answer(text, usual), meant, "{text:?}");
        }
    }
}
