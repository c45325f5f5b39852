//! The example flow of the construct mode's description, step by step, without files and processes.

use super::answer::{
    Decomposition, Gap, GapKind, Investigation, InvestigationOutcome, SpecVerdict,
};
use super::answer::{TaskVerdict, VerdictWord};
use super::apply::{self, AppliedChange, Verification};
use super::testing::{NOW, iteration_started, plan, read, stage_ended, task, texts, with_pen};
use super::{
    ConstructLimits, ConstructMove, ConstructProgress, ConstructStep, ConstructSummary, next,
};
use crate::cycle::{ConstructStart, History, JournalEntry, JournalRecord, StageKind, StageResult};
use crate::format::{PlanFormat, codec};
use crate::plan::{Id, KillReason, KilledRun, verbs};

struct Flow {
    text: String,
    history: History,
}

impl Flow {
    fn record(&mut self, record: JournalRecord) {
        self.history.add(&JournalEntry { at: NOW.into(), record });
    }

    /// The next step, with its iteration begun.
    fn next(&mut self) -> (u32, ConstructStep) {
        let limits = ConstructLimits { iterations: 10, cost: None };
        let progress = ConstructProgress::of(&self.history);
        let ConstructMove { iteration, step } = next(&read(&self.text), "s.md", &limits, &progress);
        if iteration > self.history.construct.iteration {
            self.record(iteration_started(iteration));
        }
        (iteration, step)
    }

    fn end(&mut self, stage: StageKind, applied: AppliedChange) -> StageResult {
        self.text = applied.text;
        let (came, left) = (applied.came.clone(), read(&self.text).tasks.len());
        let iteration = self.history.construct.iteration;
        self.record(stage_ended(stage, iteration, came, left));
        applied.came
    }

    fn build(&mut self, ids: &[&str], killed: Option<&str>) {
        for id in ids {
            let edits = verbs::done(&read(&self.text), &Id::from(*id), NOW).unwrap();
            self.text = codec(PlanFormat::Jsonl).edit(&self.text, &edits).unwrap();
        }
        let kill = KilledRun { reason: KillReason::Timeout, log: None };
        let mut applied = match killed {
            Some(id) => with_pen(|pen| apply::killed(&self.text, &id.into(), &kill, pen)),
            None => AppliedChange { text: self.text.clone(), came: StageResult::default() },
        };
        applied.came.built = ids.iter().map(|id| Id::from(*id)).collect();
        self.end(StageKind::Build, applied);
    }

    fn verify(&mut self, verdicts: &[TaskVerdict], whole: &SpecVerdict) -> StageResult {
        let input = Verification {
            spec: "s.md",
            verdicts,
            unverified: &[],
            whole: Some(whole),
            max_retries: 2,
        };
        let applied = with_pen(|pen| apply::verified(&self.text, &input, pen));
        self.end(StageKind::Verify, applied)
    }
}

fn found(id: &str, names: &[&str]) -> (Id, Investigation) {
    let tasks = names.iter().map(|name| task("", name, &[])).collect();
    let (issue_id, reason) = (id.to_owned(), String::new());
    (id.into(), Investigation { issue_id, outcome: InvestigationOutcome::Tasks, reason, tasks })
}

fn verdict(id: &str, verdict: VerdictWord) -> TaskVerdict {
    TaskVerdict { task_id: id.into(), verdict, reason: "r".into(), gaps: Vec::new() }
}

#[test]
fn three_iterations_lead_from_two_issues_to_a_satisfied_spec() {
    let text = plan(&[
        "{'t':'issue','id':'i-a','desc':'how are numbers read?'}",
        "{'t':'issue','id':'i-b','desc':'what does it print?'}",
    ]);
    let mut flow = Flow { text, history: History::default() };
    flow.record(JournalRecord::ConstructStarted(ConstructStart {
        spec: "s.md".into(),
        counted: 0,
    }));

    assert_eq!(flow.next(), (1, ConstructStep::Investigate(vec!["i-a".into(), "i-b".into()])));
    let findings = [found("i-a", &["Read numbers", "Read signs"]), found("i-b", &["Print sums"])];
    let applied = with_pen(|pen| apply::investigated(&flow.text, &findings, pen));
    let tasks = flow.end(StageKind::Investigate, applied).created;
    let [t1, t2, t3] = texts(&tasks)[..] else { panic!("{tasks:?}") };
    assert_eq!(flow.next(), (1, ConstructStep::Build));
    flow.build(&[t1, t2], Some(t3));
    assert_eq!(flow.next(), (1, ConstructStep::Decompose(t3.into())));
    let tasks = vec![task("a", "Print one", &[]), task("b", "Print all", &["a"])];
    let parts = Decomposition { tasks, ..Decomposition::default() };
    let applied = with_pen(|pen| apply::decomposed(&flow.text, &t3.into(), &parts, pen));
    let parts = flow.end(StageKind::Decompose, applied).created;
    let [t3a, t3b] = texts(&parts)[..] else { panic!("{parts:?}") };

    assert_eq!(
        flow.next(),
        (2, ConstructStep::Build),
        "no issues, so the next iteration builds at once"
    );
    flow.build(&[t3a, t3b], None);
    let all = [t1, t2, t3a, t3b].map(Id::from).to_vec();
    assert_eq!(flow.next(), (2, ConstructStep::Verify(all)));
    let mut verdicts = [t1, t2, t3a].map(|id| verdict(id, VerdictWord::Accept)).to_vec();
    verdicts.push(verdict(t3b, VerdictWord::Reject));
    let gap =
        |kind, description: &str| Gap { kind, description: description.into(), ..Gap::default() };
    let gaps = vec![
        gap(GapKind::MissingFeature, "missing error handling"),
        gap(GapKind::Bug, "flaky test discovered"),
    ];
    let whole = SpecVerdict { gaps, ..SpecVerdict::default() };
    let came = flow.verify(&verdicts, &whole);
    assert_eq!(texts(&came.rejected), [t3b]);
    let ([t4], [issue]) = (&came.created[..], &came.raised[..]) else { panic!("{came:?}") };

    assert_eq!(flow.next(), (3, ConstructStep::Investigate(vec![issue.clone()])));
    let findings = [found(issue.as_str(), &["Make the clock injectable"])];
    let applied = with_pen(|pen| apply::investigated(&flow.text, &findings, pen));
    let t5 = flow.end(StageKind::Investigate, applied).created[0].clone();
    assert_eq!(flow.next(), (3, ConstructStep::Build));
    let ids = [t3b, t4.as_str(), t5.as_str()];
    flow.build(&ids, None);
    assert_eq!(flow.next().1, ConstructStep::Verify(ids.map(Id::from).to_vec()));
    let satisfied = SpecVerdict { satisfied: true, ..SpecVerdict::default() };
    let came = flow.verify(&ids.map(|id| verdict(id, VerdictWord::Accept)), &satisfied);
    assert!(came.spec_accepted);
    let ConstructStep::End(end) = flow.next().1 else { panic!("it goes on") };
    assert_eq!((end.exit_code(), end.left.len()), (0, 0));
    let summary = ConstructSummary::of(&flow.history.construct, &end);
    assert_eq!((summary.total.accepted.len(), summary.total.rejected.len()), (6, 1));
    assert!(summary.lines().iter().any(|line| line.contains("spec accepted")));
}
