//! A whole construct against agents that answer anything: it ends, within its limits, never complete
//! without the spec's word, and no stage runs with nothing to do.

use proptest::prelude::*;

use super::*;
use crate::construct::answer::{
    Decomposition, Gap, GapKind, Investigation, InvestigationOutcome, NewIssue, NewTask,
    PlanAnswer, SpecVerdict, TaskVerdict, VerdictWord,
};
use crate::construct::apply::{
    self, AppliedChange, EditContext, ExistingTasks, PlanTarget, Verification, blocked, decomposed,
    give_up, investigated, killed, planned, verified,
};
use crate::construct::testing::{NOW, iteration_started, read, stage_ended};
use crate::cycle::{ConstructStart, JournalEntry, JournalRecord, StageResult, StageStart};
use crate::format::{PlanFormat, codec};
use crate::plan::{KillReason, KilledRun, PlanEdit, next_task, verbs};

/// Chance as a list of numbers that is gone through again and again.
struct Chance {
    numbers: Vec<u8>,
    at: usize,
    ids: u32,
}

impl Chance {
    fn of(&mut self, sides: u8) -> u8 {
        self.at += 1;
        self.numbers[self.at % self.numbers.len()].wrapping_add((self.at / 7) as u8) % sides
    }

    fn write(
        &mut self,
        with: impl FnOnce(EditContext<'_>) -> Result<AppliedChange, crate::format::EditError>,
    ) -> AppliedChange {
        let ids = &mut self.ids;
        let mut random = || {
            *ids += 1;
            format!("{:04}", *ids % 10_000)
        };
        with(EditContext { at: NOW, random: &mut random }).unwrap()
    }

    fn tasks(&mut self, most: u8) -> Vec<NewTask> {
        let count = self.of(most + 1);
        (0..count)
            .map(|_| {
                let name = format!("task {} {}", self.of(40), self.of(3));
                let deps = if self.of(3) == 0 {
                    vec![format!("t-{:04}", self.of(30))]
                } else {
                    Vec::new()
                };
                NewTask { name, deps, accept: vec!["`x` prints 1".into()], ..NewTask::default() }
            })
            .collect()
    }

    fn gaps(&mut self) -> Vec<Gap> {
        let kinds = [GapKind::MissingFeature, GapKind::Incomplete, GapKind::Bug, GapKind::Other];
        let count = self.of(3);
        (0..count)
            .map(|_| Gap {
                kind: kinds[usize::from(self.of(4))],
                description: format!("gap {} {}", self.of(50), self.of(3)),
                ..Gap::default()
            })
            .collect()
    }
}

/// A host that does what it is told, with agents that roll dice.
struct World {
    text: String,
    history: History,
    chance: Chance,
}

impl World {
    fn record(&mut self, record: JournalRecord) {
        self.history.add(&JournalEntry { at: NOW.into(), record });
    }

    fn take(&mut self, applied: AppliedChange, came: &mut StageResult) {
        self.text = applied.text;
        came.extend(&applied.came);
    }

    fn kill(&mut self, id: &Id, came: &mut StageResult) {
        let kill = KilledRun { reason: KillReason::Timeout, log: None };
        let applied = self.chance.write(|pen| killed(&self.text, id, &kill, pen));
        self.take(applied, came);
    }

    /// Tasks are built until none can run, one is killed, or the loop has had enough.
    fn build(&mut self, came: &mut StageResult) {
        for _ in 0..200 {
            let plan = read(&self.text);
            let Some(task) = next_task(&plan, DependencyTrust::Claimed).map(|t| t.id.clone())
            else {
                return;
            };
            match self.chance.of(8) {
                0 => return self.kill(&task, came),
                1 => {
                    let applied =
                        self.chance.write(|pen| blocked(&self.text, &task, "no key", pen));
                    self.take(applied, came);
                }
                2 => {
                    let applied = self.chance.write(|pen| give_up(&self.text, &task, "no", pen));
                    self.take(applied, came);
                }
                _ => {
                    let edits = verbs::done(&plan, &task, NOW).unwrap();
                    self.text = codec(PlanFormat::Jsonl).edit(&self.text, &edits).unwrap();
                    came.built.push(task);
                }
            }
        }
    }

    fn investigate(&mut self, issues: &[Id], came: &mut StageResult) {
        let mut findings = Vec::new();
        for id in issues {
            match self.chance.of(6) {
                0 => self.kill(id, came),
                1 => {}
                n => {
                    let outcome = if n == 2 {
                        InvestigationOutcome::OutOfScope
                    } else {
                        InvestigationOutcome::Tasks
                    };
                    let tasks = self.chance.tasks(3);
                    let (issue_id, reason) = (String::new(), String::new());
                    findings.push((id.clone(), Investigation { issue_id, outcome, reason, tasks }));
                }
            }
        }
        let applied = self.chance.write(|pen| investigated(&self.text, &findings, pen));
        self.take(applied, came);
    }

    fn not_verified(&mut self, task: Option<Id>) {
        let item = UnverifiedItem { task, why: "nonsense".into(), log: "log".into() };
        self.record(JournalRecord::NotVerified(item));
    }

    fn verify(&mut self, tasks: &[Id], came: &mut StageResult) {
        let (mut verdicts, mut silent) = (Vec::new(), Vec::new());
        for id in tasks {
            let word = match self.chance.of(5) {
                0 => {
                    self.not_verified(Some(id.clone()));
                    silent.push(id.clone());
                    continue;
                }
                1 => VerdictWord::Reject,
                _ => VerdictWord::Accept,
            };
            let gaps = self.chance.gaps();
            let task_id = id.to_string();
            verdicts.push(TaskVerdict { task_id, verdict: word, reason: "r".into(), gaps });
        }
        let whole = match self.chance.of(4) {
            0 => {
                self.not_verified(None);
                None
            }
            n => {
                Some(SpecVerdict { satisfied: n > 1, reason: "r".into(), gaps: self.chance.gaps() })
            }
        };
        let input = Verification {
            spec: "s.md",
            verdicts: &verdicts,
            unverified: &silent,
            whole: whole.as_ref(),
            max_retries: 2,
        };
        let applied = self.chance.write(|pen| verified(&self.text, &input, pen));
        self.take(applied, came);
    }

    fn decompose(&mut self, id: &Id, came: &mut StageResult) {
        let applied = match self.chance.of(4) {
            0 => self.chance.write(|pen| give_up(&self.text, id, "no", pen)),
            // The answer got lost, and the host did nothing about it.
            1 => return,
            _ => {
                let (tasks, desc) =
                    (self.chance.tasks(4), format!("narrow {}", self.chance.of(99)));
                let parts =
                    Decomposition { tasks, issues: vec![NewIssue { desc }], reason: String::new() };
                self.chance.write(|pen| decomposed(&self.text, id, &parts, pen))
            }
        };
        self.take(applied, came);
    }

    fn perform(&mut self, step: &ConstructStep) {
        let (stage, item) = match step {
            ConstructStep::Plan => (StageKind::Plan, None),
            ConstructStep::Investigate(_) => (StageKind::Investigate, None),
            ConstructStep::Build => (StageKind::Build, None),
            ConstructStep::Verify(_) => (StageKind::Verify, None),
            ConstructStep::Decompose(id) => (StageKind::Decompose, Some(id.clone())),
            ConstructStep::End(_) => return,
        };
        let iteration = self.history.construct.iteration;
        let start = StageStart { stage, iteration, id: "x".into(), item };
        self.record(JournalRecord::StageStarted(start));
        let mut came = StageResult::default();
        match step {
            ConstructStep::Plan => {
                let tasks = self.chance.tasks(6);
                let answer = PlanAnswer { tasks, ..PlanAnswer::default() };
                let (format, existing) = (PlanFormat::Jsonl, ExistingTasks::Merge);
                let target =
                    PlanTarget { format, spec: Some("s.md"), file: None, existing, title: "s" };
                let applied = self.chance.write(|pen| planned(&self.text, &target, &answer, pen));
                self.take(applied, &mut came);
            }
            ConstructStep::Investigate(issues) => self.investigate(issues, &mut came),
            ConstructStep::Build => self.build(&mut came),
            ConstructStep::Verify(tasks) => self.verify(tasks, &mut came),
            ConstructStep::Decompose(id) => self.decompose(id, &mut came),
            ConstructStep::End(_) => {}
        }
        let left = left(&read(&self.text), &[]).len();
        self.record(stage_ended(stage, iteration, came, left));
    }
}

/// A stage has something to do.
fn has_work(plan: &Plan, step: &ConstructStep) -> bool {
    match step {
        ConstructStep::Plan => needs_plan(plan, "s.md"),
        ConstructStep::Investigate(issues) => {
            !issues.is_empty() && issues.iter().all(|id| plan.issue(id).is_some())
        }
        ConstructStep::Build => next_task(plan, DependencyTrust::Claimed).is_some(),
        ConstructStep::Verify(tasks) => {
            let done = |id: &Id| plan.task(id).is_some_and(|t| t.state == TaskState::Done);
            tasks.iter().all(done) && (!tasks.is_empty() || stage(plan) == Stage::Complete)
        }
        ConstructStep::Decompose(id) => {
            plan.task(id).is_some_and(|t| matches!(t.state, TaskState::Killed(_)))
                || plan.issue(id).is_some_and(|i| i.kill.is_some())
        }
        ConstructStep::End(_) => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn a_construct_always_ends_whatever_the_agents_answer(
        numbers in prop::collection::vec(any::<u8>(), 8..64), iterations in 1..8_u32,
    ) {
        let other = PlanEdit::AddTask {
            task: crate::plan::Task { id: "t-othr".into(), name: "other".into(), spec: Some("o.md".into()), ..Default::default() },
            after: None,
        };
        let text = codec(PlanFormat::Jsonl).edit("", &[other, PlanEdit::UseSpec("s.md".into())]).unwrap();
        let chance = Chance { numbers, at: 0, ids: 0 };
        let mut world = World { text, history: History::default(), chance };
        world.record(JournalRecord::ConstructStarted(ConstructStart { spec: "s.md".into(), counted: 0 }));
        let limits = ConstructLimits { iterations, cost: None };
        let mut steps = 0_usize;
        let end = loop {
            let plan = read(&world.text);
            let ConstructMove { iteration, step } = next(&plan, "s.md", &limits, &ConstructProgress::of(&world.history));
            prop_assert!(has_work(&plan, &step), "{:?} has nothing to do", step);
            if let ConstructStep::End(end) = step {
                break end;
            }
            prop_assert!(iteration <= iterations, "iteration {}", iteration);
            prop_assert_eq!(iteration == 0, step == ConstructStep::Plan);
            if iteration > world.history.construct.iteration {
                prop_assert_eq!(iteration, world.history.construct.iteration + 1);
                world.record(iteration_started(iteration));
            }
            world.perform(&step);
            steps += 1;
            // Three stages an iteration, and DECOMPOSE for each item that there can be.
            prop_assert!(steps < 2_000, "it does not end");
        };
        let plan = read(&world.text);
        let complete = end.end == LoopEnd::Complete;
        prop_assert!(!complete || plan.accepted_specs.iter().any(|a| a.spec == "s.md"));
        prop_assert!(!complete || (end.left.is_empty() && stage(&plan) == Stage::Complete));
        prop_assert_eq!(complete, end.exit_code() == 0);
        prop_assert!(plan.task(&"t-othr".into()).is_some());
        let summary = crate::construct::ConstructSummary::of(&world.history.construct, &end);
        prop_assert!(!summary.lines().is_empty());
        prop_assert_eq!(apply::depth(&plan, &"t-othr".into()), 0);
    }
}
