//! DECOMPOSE: killed work becomes smaller work.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, UnusableAnswer, schema_of};
use ralph_core::construct::answer::{self, Decomposition};
use ralph_core::construct::apply;
use ralph_core::construct::prompts::{self, DecomposeInput, KilledItem};
use ralph_core::cycle::StageKind;
use ralph_core::plan::{Id, Issue, KilledRun, Plan, Task, TaskState};

use super::ConstructGoal;
use crate::drive::consult::{Consultation, ConsultationQuestion, may_do_better};
use crate::drive::error::LoopHalt;
use crate::drive::session::RunSession;
use crate::drive::terms::{AgentAccess, RoleTerms};

/// Bytes at each end of a log that are read; the rest is never looked at.
const END: usize = 512 * 1024;

/// Task or issue whose agent was killed, with the reason.
enum KilledWork {
    Task(Box<Task>, KilledRun),
    Issue(Box<Issue>, KilledRun),
}

impl KilledWork {
    fn find(plan: &Plan, id: &Id) -> Option<Self> {
        if let Some(task) = plan.task(id) {
            let TaskState::Killed(kill) = &task.state else { return None };
            return Some(Self::Task(Box::new(task.clone()), kill.clone()));
        }
        let issue = plan.issue(id)?;
        issue.kill.clone().map(|kill| Self::Issue(Box::new(issue.clone()), kill))
    }

    fn kill(&self) -> &KilledRun {
        match self {
            Self::Task(_, kill) | Self::Issue(_, kill) => kill,
        }
    }

    fn read(&self, said: &BackendAnswer, plan: &Plan) -> Result<Decomposition, UnusableAnswer> {
        match self {
            Self::Task(task, _) => answer::task_parts(said, plan, task),
            Self::Issue(..) => answer::issue_parts(said, plan),
        }
    }
}

impl RunSession<'_> {
    pub(super) fn decompose(&mut self, goal: &ConstructGoal, id: &Id) -> Result<(), LoopHalt> {
        let under = self.begin_stage(StageKind::Decompose, Some(id.clone()))?;
        let plan = self.read_plan()?.plan;
        let plan: &Plan = &plan;
        let Some(killed) = KilledWork::find(plan, id) else {
            return Ok(self.end_stage(&under, ralph_core::cycle::StageResult::default())?);
        };
        let log = killed.kill().log.as_ref().map(|log| self.project.root().join(log));
        let log = match log {
            Some(path) => ends_of(&path).unwrap_or_default(),
            None => String::new(),
        };
        let templates = self.templates()?;
        let input = DecomposeInput {
            item: match &killed {
                KilledWork::Task(task, _) => KilledItem::Task(task),
                KilledWork::Issue(issue, _) => KilledItem::Issue(issue),
            },
            kill: killed.kill(),
            spec: goal.spec_text(),
            log: &log,
            depth: apply::depth(plan, id),
        };
        let prompt = prompts::decompose(&templates, &input)?;
        let check = |said: &BackendAnswer| killed.read(said, plan).map(|_| "");
        let schema = schema_of::<Decomposition>();
        let terms = RoleTerms::of(&self.config, AgentRole::Decompose, schema, AgentAccess::Looks);
        let question = ConsultationQuestion { item: id.to_string(), prompt, check: &check };
        let consultation =
            Consultation { ask_again: may_do_better, ..Consultation::one(terms, question) };
        let consulted = self.consult(&consultation)?;
        LoopHalt::at(self.fatal_answer(&consulted.answers))?;
        let Some(answer) = consulted.answers.first() else { return Ok(()) };
        let came = match (&answer.verdict, killed.read(&answer.said, plan)) {
            (Ok(_), Ok(parts)) => {
                self.apply(|_, text, pen| apply::decomposed(text, id, &parts, pen))?
            }
            (verdict, _) => {
                let why = verdict.clone().err().unwrap_or_default();
                let reason = format!("it could not be broken down: {why}");
                self.apply(|_, text, pen| apply::give_up(text, id, &reason, pen))?
            }
        };
        Ok(self.end_stage(&under, came)?)
    }
}

/// The beginning and the end of a log; what lies between is what flooded the context.
fn ends_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let end = u64::try_from(END).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    (&mut file).take(end).read_to_end(&mut bytes)?;
    if length > end {
        file.seek(SeekFrom::Start(length.saturating_sub(end).max(end)))?;
        bytes.push(b'\n');
        file.take(end).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
