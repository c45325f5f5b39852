use proptest::prelude::*;

use super::super::model_tests::*;
use super::*;
use crate::backend::BackendOutcome;
use crate::claim::Claim;
use crate::cycle::{
    AttemptDecision, AttemptEvidence, AttemptState, AttemptView, History, JournalRecord,
    LandingExtent, judge,
};
use crate::gate::{FailingNames, GateRuling, GateVerdict};

fn facts(candidate: CandidateState) -> AttemptFacts {
    AttemptFacts { landed: None, candidate }
}

fn committed() -> AttemptFacts {
    AttemptFacts { landed: Some("c0ffee".into()), ..facts(CandidateState::Kept) }
}

/// The open attempt after the first `n` records of one that lands.
fn after(n: usize) -> OpenAttempt {
    history(lands("a", 1, "t-1", LandingExtent::Partial)[..n].to_vec()).open.unwrap()
}

#[track_caller]
fn rolls_back(recovery: AttemptRecovery) -> FailIntent {
    match recovery {
        AttemptRecovery::RollBack(intent) => intent,
        other => panic!("it does not roll back: {other:?}"),
    }
}

#[test]
fn a_backend_that_was_running_is_rolled_back_and_not_counted() {
    for candidate in [CandidateState::Kept, CandidateState::Lost] {
        let intent = rolls_back(recover(&after(1), &facts(candidate)));
        assert_eq!((intent.failure.kind, intent.retries), (FailureKind::Interrupted, 0));
    }
}

#[test]
fn a_result_that_was_saved_is_judged_again_and_no_backend_runs() {
    assert_eq!(recover(&after(2), &facts(CandidateState::Kept)), AttemptRecovery::Judge);
    assert_eq!(recover(&after(3), &facts(CandidateState::Kept)), AttemptRecovery::Judge);
    assert_eq!(rolls_back(recover(&after(3), &facts(CandidateState::Lost))).retries, 0);
}

#[test]
fn a_landing_that_was_about_to_happen_happens_and_one_that_happened_is_finished() {
    assert_eq!(recover(&after(4), &facts(CandidateState::Kept)), AttemptRecovery::Judge);
    let AttemptRecovery::Finish { commit, intent } = recover(&after(4), &committed()) else {
        panic!()
    };
    assert_eq!((commit.as_str(), intent.landing), ("c0ffee", LandingExtent::Partial));
    rolls_back(recover(&after(4), &facts(CandidateState::Lost)));
}

#[test]
fn a_commit_that_an_agent_made_with_the_attempts_trailer_lands_nothing() {
    assert_eq!(rolls_back(recover(&after(1), &committed())).failure.kind, FailureKind::Interrupted);
    assert_eq!(recover(&after(2), &committed()), AttemptRecovery::Judge);
}

#[test]
fn a_rollback_that_was_begun_goes_on_unless_git_knows_the_landing() {
    let mut records = lands("a", 1, "t-1", LandingExtent::Partial);
    records[4] = fail_intent("a", AttemptFailure::new(FailureKind::Hook, "pre-commit said no"));
    let open = history(records).open.unwrap();
    for candidate in [CandidateState::Kept, CandidateState::Lost] {
        let intent = rolls_back(recover(&open, &facts(candidate)));
        assert_eq!((intent.failure.kind, intent.retries), (FailureKind::Hook, 1));
    }
    assert!(matches!(recover(&open, &committed()), AttemptRecovery::Finish { .. }));
}

#[test]
fn a_backend_that_had_failed_before_the_crash_has_failed() {
    let records = [start("a", 1, "t-1"), ended("a", &BackendOutcome::Timeout)];
    let open = history(records).open.unwrap();
    assert_eq!(recover(&open, &facts(CandidateState::Kept)), AttemptRecovery::Judge);
    let intent = rolls_back(recover(&open, &facts(CandidateState::Lost)));
    assert_eq!((intent.failure.kind, intent.retries), (FailureKind::Timeout, 1));
    assert_eq!(intent.failure.message, BackendOutcome::Timeout.to_string());
}

#[test]
fn a_usage_limit_before_the_crash_is_never_counted() {
    for outcome in [
        BackendOutcome::RateLimit { resets_at: None, message: "5 hours".into() },
        BackendOutcome::NotLoggedIn { message: "expired".into() },
        BackendOutcome::Cancelled,
    ] {
        let open = history([start("a", 1, "t-1"), ended("a", &outcome)]).open.unwrap();
        let intent = rolls_back(recover(&open, &facts(CandidateState::Lost)));
        assert!(!intent.failure.kind.counts(), "{outcome:?}");
        assert_eq!(intent.retries, 0);
    }
}

#[test]
fn the_fourth_crash_of_a_task_counts_and_says_so() {
    let mut records = Vec::new();
    for n in 1..=3 {
        records.extend(crashes(&n.to_string(), n, "t-1"));
    }
    records.push(start("x", 4, "t-1"));
    let intent =
        rolls_back(recover(&history(records.clone()).open.unwrap(), &facts(CandidateState::Lost)));
    assert_eq!((intent.failure.kind, intent.retries), (FailureKind::Crashed, 1));
    assert!(intent.failure.message.contains("the 4th time"), "{}", intent.failure.message);
    records.extend([JournalRecord::FailIntent(intent), rolled_back("x"), start("y", 5, "t-1")]);
    let again = rolls_back(recover(&history(records).open.unwrap(), &facts(CandidateState::Lost)));
    assert_eq!(again.failure.kind, FailureKind::Crashed, "and so does every one after it");
}

/// Whether the repository takes the commit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hook {
    Accepts,
    Refuses,
}

/// What one attempt would lead to if nobody disturbed it.
#[derive(Clone, Debug)]
struct Course {
    outcome: BackendOutcome,
    claim: Claim,
    changed: usize,
    gates: GateRuling,
    hook: Hook,
}

/// A small world in which a host works until its fuel is used up: a crash.
struct World {
    course: Course,
    journal: Vec<JournalRecord>,
    candidate: CandidateState,
    commits: Vec<String>,
    fuel: usize,
    /// A claim of the journal that the world does not bear out.
    lie: Option<String>,
}

impl World {
    fn new(course: &Course) -> Self {
        Self {
            course: course.clone(),
            journal: vec![run("r1", 0)],
            candidate: CandidateState::Lost,
            commits: Vec::new(),
            fuel: 0,
            lie: None,
        }
    }

    fn history(&self) -> History {
        history(self.journal.clone())
    }

    /// One thing that either happens or does not.
    fn act(&mut self, deed: impl FnOnce(&mut Self)) -> Option<()> {
        self.fuel = self.fuel.checked_sub(1)?;
        deed(self);
        Some(())
    }

    fn write(&mut self, record: JournalRecord) -> Option<()> {
        self.act(|world| world.journal.push(record))
    }

    fn attempt(&mut self) -> Option<()> {
        let history = self.history();
        let attempt = format!("a{}", history.attempts.len());
        self.write(start(&attempt, history.next_iteration(), "t-1"))?;
        if self.course.changed > 0 {
            self.act(|_| ())?;
            self.act(|world| world.candidate = CandidateState::Kept)?;
        }
        let mut end = end(&attempt, &self.course.outcome);
        end.claim = self.course.claim.clone();
        end.changed = self.course.changed;
        self.write(backend_ended(end))?;
        let outcome = self.course.outcome.clone();
        self.decide(&attempt, &outcome)
    }

    fn judge(&self, outcome: &BackendOutcome, ruling: Option<GateRuling>) -> AttemptDecision {
        let verdict = ruling.map(|ruling| GateVerdict { ruling, ..GateVerdict::default() });
        judge(&AttemptEvidence {
            partial_landings: 0,
            outcome,
            claim: &self.course.claim,
            review: None,
            changed: self.course.changed,
            forbidden: &[],
            verdict: verdict.as_ref(),
        })
    }

    fn decide(&mut self, attempt: &str, outcome: &BackendOutcome) -> Option<()> {
        let mut decision = self.judge(outcome, None);
        if decision == AttemptDecision::Gate {
            self.write(verdict(attempt, self.course.gates != refused()))?;
            decision = self.judge(outcome, Some(self.course.gates.clone()));
        }
        match decision {
            AttemptDecision::Gate => panic!("gates were run"),
            AttemptDecision::Land { landing, .. } => {
                self.write(land_intent(attempt, landing))?;
                self.land(attempt)
            }
            AttemptDecision::Fail(failure) => {
                self.write(fail_intent(attempt, failure))?;
                self.roll_back(attempt)
            }
            AttemptDecision::Wait { .. } | AttemptDecision::Stop { .. } => self.roll_back(attempt),
        }
    }

    fn land(&mut self, attempt: &str) -> Option<()> {
        if self.course.hook == Hook::Refuses {
            let refusal = AttemptFailure::new(FailureKind::Hook, "pre-commit said no");
            self.write(fail_intent(attempt, refusal))?;
            return self.roll_back(attempt);
        }
        self.act(|world| world.commits.push(attempt.to_owned()))?;
        self.write(landed(attempt))
    }

    fn roll_back(&mut self, attempt: &str) -> Option<()> {
        self.act(|world| world.candidate = CandidateState::Lost)?;
        self.write(rolled_back(attempt))
    }

    fn recover(&mut self, open: &OpenAttempt) -> Option<()> {
        let attempt = open.started.attempt.clone();
        let landed_already = self.commits.contains(&attempt).then(|| "c0ffee".to_owned());
        let facts = AttemptFacts { landed: landed_already, candidate: self.candidate };
        match recover(open, &facts) {
            AttemptRecovery::Finish { .. } => self.write(landed(&attempt)),
            AttemptRecovery::Judge => {
                let outcome = self.course.outcome.clone();
                self.decide(&attempt, &outcome)
            }
            AttemptRecovery::RollBack(intent) => {
                if open.failure.is_none() {
                    self.write(JournalRecord::FailIntent(intent))?;
                }
                self.roll_back(&attempt)
            }
        }
    }

    /// Start ralph: recover, and work until the task has a fate that is not a crash's.
    fn start(&mut self, fuel: usize) -> Option<()> {
        self.fuel = fuel;
        loop {
            let history = self.history();
            match (&history.open, history.attempts.last()) {
                (Some(open), _) => self.recover(open)?,
                (None, Some(view)) if !was_crash(view) => return Some(()),
                (None, _) => {
                    // The next attempt begins on whatever the last one left.
                    self.candidate = CandidateState::Lost;
                    self.attempt()?;
                }
            }
            self.check();
        }
    }

    /// The journal never says that something landed which is not in git, and the other way round.
    fn check(&mut self) {
        let history = self.history();
        for view in &history.attempts {
            let says = matches!(view.fate, AttemptState::Landed { .. });
            let is = self.commits.iter().filter(|c| **c == view.started.attempt).count();
            if view.fate != AttemptState::Open && is != usize::from(says) {
                self.lie = Some(format!("{view:?} with {is} commits"));
            }
        }
    }
}

fn was_crash(view: &AttemptView) -> bool {
    let by_crash = view.backend.as_ref().is_none_or(|end| end.outcome == BackendOutcome::Success);
    let AttemptState::Failed { failure, .. } = &view.fate else { return false };
    by_crash && failure.kind == FailureKind::Interrupted
}

/// The fate of the task, without commit ids and refs.
fn told(history: &History) -> Option<AttemptState> {
    let mut fate = history.attempts.last()?.fate.clone();
    match &mut fate {
        AttemptState::Landed { commit, .. } => *commit = None,
        AttemptState::Failed { salvage, .. } => *salvage = None,
        AttemptState::Limited | AttemptState::Open | AttemptState::Interrupted => {}
    }
    Some(fate)
}

fn courses() -> impl Strategy<Value = Course> {
    let outcome = proptest::sample::select(vec![
        BackendOutcome::Success,
        BackendOutcome::Success,
        BackendOutcome::Success,
        BackendOutcome::Timeout,
        BackendOutcome::NoOutput,
        BackendOutcome::RateLimit { resets_at: None, message: "5 hours".into() },
        BackendOutcome::NotInstalled,
        BackendOutcome::Budget,
    ]);
    let claim = proptest::sample::select(vec![
        Claim::DONE,
        Claim::Done { no_change_needed: Some("it is there".into()) },
        Claim::Partial,
        Claim::Blocked { reason: "no key".into() },
        Claim::None,
    ]);
    let gates = proptest::sample::select(vec![
        GateRuling::Proven,
        GateRuling::ProvenExceptOld(FailingNames::from_iter(["old"])),
        GateRuling::Unproven(Vec::new()),
        refused(),
    ]);
    let hook = proptest::sample::select(vec![Hook::Accepts, Hook::Refuses]);
    (outcome, claim, 0..2usize, gates, hook).prop_map(|(outcome, claim, changed, gates, hook)| {
        Course { outcome, claim, changed, gates, hook }
    })
}

fn refused() -> GateRuling {
    GateRuling::Refused { forbidden: vec!["tests/a.rs".into()], fingerprint: "f".into() }
}

const ENOUGH: usize = 1_000;

proptest! {
    #[test]
    fn three_crashes_anywhere_lead_to_the_fate_of_an_undisturbed_run(
        course in courses(),
        crashes in proptest::collection::vec(0..16usize, 0..=3),
    ) {
        let mut calm = World::new(&course);
        calm.start(ENOUGH).expect("nobody disturbs it");
        let mut world = World::new(&course);
        for fuel in crashes {
            let _crash = world.start(fuel);
        }
        world.start(ENOUGH).expect("nobody disturbs it any more");
        prop_assert_eq!(told(&world.history()), told(&calm.history()));
        prop_assert_eq!(&world.lie, &None);
        prop_assert_eq!(world.commits.len(), calm.commits.len(), "landed more than once, or never");
        prop_assert!(world.history().open.is_none());
    }
}

#[test]
fn a_crash_behind_every_single_step_leads_to_the_same_fate() {
    let course = |hook, gates| Course {
        outcome: BackendOutcome::Success,
        claim: Claim::DONE,
        changed: 1,
        gates,
        hook,
    };
    for course in [
        course(Hook::Accepts, GateRuling::Proven),
        course(Hook::Refuses, GateRuling::Proven),
        course(Hook::Accepts, refused()),
    ] {
        let mut calm = World::new(&course);
        calm.start(ENOUGH).unwrap();
        for fuel in 0..ENOUGH - calm.fuel {
            let mut world = World::new(&course);
            assert_eq!(world.start(fuel), None, "it was to crash");
            world.start(ENOUGH).unwrap();
            assert_eq!(told(&world.history()), told(&calm.history()), "{course:?} {fuel}");
            assert_eq!((world.commits.len(), &world.lie), (calm.commits.len(), &None));
        }
    }
}
