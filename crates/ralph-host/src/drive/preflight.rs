//! Checks before the first paid call: committer, backends and gates. Each failure names the fix, is
//! found before the run begins, and costs nothing.

use std::ffi::OsStr;

use ralph_core::config::{LedgerCommitPolicy, StageName};
use ralph_core::cycle::{AttemptBase, RunCommand};
use ralph_core::gate::{Gate, StartRequirement, start_requirements};
use ralph_core::init::CONVENTIONAL_PREFIX;
use ralph_core::plan::{Task, duplicate_ids};
use ralph_core::text::{clip, shell_word};

use super::error::DriveError;
use super::landing::attempt_subject;
use super::session::{RunSession, stage_choice};
use crate::choice::{BackendChoiceError, ProgramSearchPaths};
use crate::git::{CommitMessage, GitError, introduce};
use crate::lanes::HookReport;
use crate::proc::{find_program, is_executable};

/// Characters of a task's name in the message that the commit-msg hook is tried on.
const SAMPLE: usize = 40;

impl RunSession<'_> {
    /// Refuse to begin where the first attempt could only fail.
    pub(super) fn preflight(&mut self) -> Result<(), DriveError> {
        self.check_ids()?;
        if self.kind != RunCommand::Plan {
            self.check_identity()?;
            self.gates.iter().try_for_each(|gate| self.check_gate(gate))?;
        }
        self.check_backends()
    }

    /// Two tasks of one id cannot be told apart when one of them is to be marked done.
    fn check_ids(&mut self) -> Result<(), DriveError> {
        let found = duplicate_ids(&self.read_plan()?.plan);
        let Some(first) = found.first() else { return Ok(()) };
        let file = &self.plan.shown;
        let message = format!("{file}: line {}: {}", first.line, first.message);
        let command = format!("ralph validate --plan {}", shell_word(file));
        let hint = format!("give each task an id of its own; `{command}` lists all findings");
        Err(DriveError::Ask { message, hint })
    }

    fn check_identity(&self) -> Result<(), DriveError> {
        let commits =
            self.config.auto_commit || self.config.commit_ledger != LedgerCommitPolicy::Never;
        match !commits || introduce(self.project.root(), self.runner)?.1 {
            true => Ok(()),
            false => Err(GitError::Identity.into()),
        }
    }

    fn check_backends(&self) -> Result<(), DriveError> {
        let stages: &[StageName] = match self.kind {
            RunCommand::Build => &[StageName::Build],
            RunCommand::Land => &[],
            RunCommand::Plan => &[StageName::Plan],
            RunCommand::Construct | RunCommand::Agent => {
                &[StageName::Plan, StageName::Investigate, StageName::Build, StageName::Verify]
            }
        };
        let root = self.project.root();
        let path = std::env::var_os("PATH");
        let place = ProgramSearchPaths { root, cwd: root, path: path.as_deref() };
        for stage in stages {
            let chosen = stage_choice(&self.config, *stage, &self.options, root)?.chosen;
            if chosen.found(place).is_none() {
                let (name, program) = (chosen.name, chosen.program);
                return Err(BackendChoiceError::NotInstalled { name, program }.into());
            }
        }
        Ok(())
    }

    /// Before the first attempt of a run: the commit-msg hook is tried in the lane, where it runs at a landing,
    /// on a message like that of the commit to come.
    pub(super) fn check_message_hook(&mut self, task: &Task, id: &str) -> Result<(), DriveError> {
        let is_first = self.history.of_run().next().is_none();
        if !is_first || !self.work.lane.has_message_hook()? {
            return Ok(());
        }
        let base = self.ready_lane(&self.keeper(task), id)?;
        let sample = |prefix: &str| CommitMessage {
            subject: attempt_subject(prefix, 1, task.id.as_str(), &clip(&task.name, SAMPLE)),
            body: String::new(),
            trailers: vec![("Ralph-Task".into(), task.id.to_string())],
        };
        let prefix = self.config.commit_prefix.clone();
        let Some(output) = self.try_message(&base, &sample(&prefix))? else { return Ok(()) };
        let message = format!(
            "the commits of ralph would be refused, with subjects like \"{}\":\n{output}",
            sample(&prefix).subject
        );
        let hint = match self.try_message(&base, &sample(CONVENTIONAL_PREFIX))? {
            None => {
                format!("set commit_prefix = \"{CONVENTIONAL_PREFIX}\" in ralph.toml: that passes")
            }
            Some(_) => "set commit_prefix in ralph.toml to what the hook accepts before `: `, or \
                        let the hook pass these subjects"
                .to_owned(),
        };
        Err(DriveError::Ask { message, hint })
    }

    /// Why the commit-msg hook refuses this message of an attempt, if it does.
    fn try_message(
        &self,
        base: &AttemptBase,
        message: &CommitMessage,
    ) -> Result<Option<String>, DriveError> {
        let (work, text) = (&self.work, message.of_attempt(&base.attempt));
        let branch = work.branch.as_deref();
        Ok(match work.lane.run_message_hook(&base.commit, branch, &text, &|job| job)? {
            HookReport::Passed { .. } => None,
            HookReport::Refused { output, .. } => Some(output),
        })
    }

    fn check_gate(&self, gate: &Gate) -> Result<(), DriveError> {
        let (path, root) = (std::env::var_os("PATH"), self.project.root());
        let on_path = |name: &str| find_program(OsStr::new(name), path.as_deref(), root);
        // Setup makes files in the lane that home need not have, such as a virtual environment.
        let is_made = |name: &str| name.contains('/') && self.config.lane.setup.is_some();
        let missing = start_requirements(&gate.command).into_iter().find_map(|need| match need {
            StartRequirement::Program(name) if is_made(&name) => None,
            StartRequirement::Program(name) => match on_path(&name) {
                None => Some((format!("there is no program `{name}`"), gate_advice(gate))),
                Some(file) if is_executable(&file) || file.is_dir() => None,
                Some(_) => {
                    let advice = format!("`chmod +x {}` makes it so", shell_word(&name));
                    Some((format!("`{name}` is not executable"), advice))
                }
            },
            StartRequirement::Script(file) if is_made(&file) => None,
            StartRequirement::Script(file) => {
                let found = root.join(&file).exists() || on_path(&file).is_some();
                (!found).then(|| (format!("there is no file `{file}`"), gate_advice(gate)))
            }
        });
        let Some((what, hint)) = missing else { return Ok(()) };
        let Gate { name, command, .. } = gate;
        let message = format!("the gate {name} cannot be run: {what} (`{command}`)");
        Err(DriveError::Ask { message, hint })
    }
}

/// Return the advice for a gate that cannot be run.
pub(super) fn gate_advice(gate: &Gate) -> String {
    format!("install what `{}` needs, or correct the gate in ralph.toml", gate.command)
}
