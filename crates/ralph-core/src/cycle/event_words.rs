//! The sentence of an event, for logs and for the `message` field.

use super::arrival_record::SettlementWay;
use super::attempts::AttemptState;
use super::event::{EventKind, IndexState};
use super::payload::RestoredTree;
use super::record::GateTree;
use crate::control::OperatorCommand;
use crate::gate::GateVerdict;
use crate::words::took;

impl std::fmt::Display for EventKind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OrchestratorStart(run) => write!(f, "ralph {} on {}", run.command, run.plan),
            Self::OrchestratorEnd(end) => f.write_str(&end.reason),
            Self::IterationStart(started) => write!(f, "Starting iteration {}", started.iteration),
            Self::BackendEnd(end) => write!(f, "{}", end.outcome),
            Self::HumanReviewRequested(request) => f.write_str(&request.reason),
            Self::GateStart(start) => write!(f, "{} runs{}", start.gate, place(start.on)),
            Self::GateEnd(end) => {
                let (start, word) = (&end.start, if end.passed { "passed" } else { "failed" });
                let took = took(end.took_ms);
                write!(f, "{} {word}{} in {took}", start.gate, place(start.on))
            }
            Self::ValidationPass(verdict) | Self::ValidationFail(verdict) => {
                f.write_str(&gate_words(verdict))
            }
            Self::IterationEnd(end) => {
                write!(f, "Iteration {}: ", end.iteration)?;
                match end.fate {
                    AttemptState::Failed { failure, .. } => f.write_str(&failure.message),
                    AttemptState::Limited => f.write_str("usage limit"),
                    AttemptState::Landed { .. }
                    | AttemptState::Open
                    | AttemptState::Interrupted => f.write_str("landed"),
                }
            }
            Self::Arrived(arrived) => match arrived.commits {
                1 => write!(f, "1 commit arrived on {}", arrived.branch),
                count => write!(f, "{count} commits arrived on {}", arrived.branch),
            },
            Self::NotArrived(not) => f.write_str(&not.sentence),
            Self::Replayed(replay) => match replay.commits.len() {
                1 => f.write_str("1 commit was replayed onto yours"),
                count => write!(f, "{count} commits were replayed onto yours"),
            },
            Self::Taken(_) => f.write_str("the branch has the waiting commits already"),
            Self::Settled(settled) => match &settled.way {
                SettlementWay::Uncommitted => {
                    f.write_str("the waiting commits are uncommitted changes now")
                }
                SettlementWay::NewBranch(name) => {
                    write!(f, "the waiting commits are on branch {name}")
                }
                SettlementWay::GivenUp(name) => {
                    write!(f, "the waiting commits were given up; {name} keeps them")
                }
            },
            Self::Amendments(amended) => {
                let all: Vec<String> = amended.outcomes.iter().map(ToString::to_string).collect();
                write!(f, "{} amended the plan: {}", amended.task, all.join("; "))
            }
            Self::Waiting(wait) => write!(f, "usage limit of {}: {}", wait.backend, wait.reason),
            Self::WaitEnd(_) => f.write_str("the wait is over"),
            Self::Pause(command)
            | Self::Resume(command)
            | Self::Note(command)
            | Self::SkipTask(command)
            | Self::Stop(command)
            | Self::KillAttempt(command)
            | Self::RetryTask(command)
            | Self::SetSetting(command)
            | Self::CommandIgnored(command) => write_command(command, f),
            Self::ConstructStart(start) => write!(f, "construct {}", start.spec),
            Self::ConstructIteration(start) => {
                write!(f, "construct iteration {}", start.iteration)
            }
            Self::StageStart(start) => f.write_str(start.stage.as_str()),
            Self::StageEnd(end) => f.write_str(end.stage.as_str()),
            Self::WorkReviewed(work) => {
                write!(f, "a verifier accepted {} (iteration {})", work.task_id, work.iteration)
            }
            Self::NotVerified(item) => write!(f, "{item}"),
            Self::ConstructSummary(summary) => f.write_str(&summary.reason),
            Self::SpecComplete(spec) => match &spec.commit {
                Some(commit) => write!(f, "{} ({commit})", spec.subject),
                None => f.write_str(&spec.subject),
            },
            Self::SpecFailed(spec) => write!(f, "{} failed: {}", spec.spec, spec.why),
            Self::AgentStart(asked) => write!(f, "{} {}", asked.role, asked.item),
            Self::AgentEnd(answered) => write!(f, "{}: {}", answered.role, answered.answer),
            Self::AgentPass(answer) => write!(f, "{} {}", answer.pass, answer.summary),
            Self::AgentPassFailed(failure) => write!(f, "pass {}: {}", failure.pass, failure.why),
            Self::CompactionStart(trigger) => {
                write!(f, "the knowledge index is brought up to date: {trigger}")
            }
            Self::KnowledgeIndexed(index) => {
                let IndexState { iteration } = index;
                write!(f, "the knowledge index knows everything up to iteration {iteration}")
            }
            Self::KnowledgeIndexUndone(undone) => {
                let why = undone.why.join("; ");
                write!(f, "an update of the knowledge index was undone: {why}")
            }
            Self::ResearchRequested(task) => {
                write!(f, "{} waits for more research: {}", task.task, task.text)
            }
            Self::TaskSkipped(task) => write!(f, "{} is {}", task.task, task.text),
            Self::StuckDetected(stuck) => f.write_str(&stuck.evidence),
            Self::ContextDirective(advice) => f.write_str(&advice.reason),
            Self::FailurePattern(pattern) => f.write_str(&pattern.pattern),
            Self::PromptTruncated(_) => f.write_str("the prompt was over its budget"),
            Self::LaneSetup(command) => write!(f, "the lane is set up: {}", command.text),
            Self::AgentStep(remark)
            | Self::CommandRefused(remark)
            | Self::Context(remark)
            | Self::LedgerRestored(remark)
            | Self::Recovered(remark)
            | Self::Warning(remark) => f.write_str(&remark.text),
            Self::TreeRestored(restored) => {
                let RestoredTree { role, paths } = restored;
                write!(f, "{role} changed {} files, which were put back", paths.len())
            }
            Self::Backend(_) => Ok(()),
            Self::Tick(tick) => f.write_str(tick.reason),
            Self::Paused(_) => f.write_str("the loop waits for `ralph resume`"),
        }
    }
}

fn write_command(command: &OperatorCommand, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    let what = command.argument.as_deref().unwrap_or(command.command.as_str());
    match &command.ignored {
        Some(why) => write!(f, "{what}: ignored, {why}"),
        None => f.write_str(what),
    }
}

/// Describe the tree that a gate runs on. Return nothing for the tree that the backend left.
fn place(on: GateTree) -> &'static str {
    match on {
        GateTree::Result => "",
        GateTree::Base => " on the tree before the attempt",
        GateTree::Alone => " on the commit alone",
    }
}

/// Describe a verdict of the gates, without claiming more than it says.
fn gate_words(verdict: &GateVerdict) -> String {
    let red: Vec<&str> =
        verdict.checks.iter().filter(|c| !c.is_green()).map(|c| c.name.as_str()).collect();
    match (verdict.passed(), red.as_slice()) {
        (true, []) if verdict.checks.is_empty() => "no gates to pass".to_owned(),
        (true, []) => "gates passed".to_owned(),
        (true, red) => format!("tolerated: {}", red.join(", ")),
        (false, []) => "not good enough, though no gate is red".to_owned(),
        (false, red) => format!("gates failed: {}", red.join(", ")),
    }
}
