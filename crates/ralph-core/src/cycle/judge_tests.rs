use proptest::prelude::*;

use super::*;
use crate::backend::ProcessEnding;
use crate::cycle::LandingExtent;
use crate::gate::{GateCheck, GateStanding};

const DONE: Claim = Claim::DONE;

static PROVEN: GateVerdict = verdict(GateRuling::Proven);
static UNPROVEN: GateVerdict = verdict(GateRuling::Unproven(Vec::new()));

const fn verdict(ruling: GateRuling) -> GateVerdict {
    GateVerdict {
        attempt: String::new(),
        ruling,
        checks: Vec::new(),
        judges: Vec::new(),
        report: None,
    }
}

fn red() -> GateVerdict {
    let ruling = GateRuling::Refused { forbidden: Vec::new(), fingerprint: "print".into() };
    GateVerdict { ruling, ..red_and_blocked() }
}

/// A red gate, and a judge that must stay as it is.
fn red_and_blocked() -> GateVerdict {
    let standing = GateStanding::New { new: FailingNames::default(), old: FailingNames::default() };
    let check = GateCheck { name: "test".into(), standing, ..GateCheck::default() };
    GateVerdict { checks: vec![check], ..blocked() }
}

fn blocked() -> GateVerdict {
    let forbidden = vec!["tests/a.rs".to_owned()];
    verdict(GateRuling::Refused { forbidden, fingerprint: "print".into() })
}

fn except_old() -> GateVerdict {
    verdict(GateRuling::ProvenExceptOld(FailingNames::from_iter(["old"])))
}

/// Honest work: a claim, a change, green gates.
fn work() -> AttemptEvidence<'static> {
    AttemptEvidence {
        outcome: &BackendOutcome::Success,
        claim: &DONE,
        review: None,
        changed: 2,
        forbidden: &[],
        partial_landings: 0,
        verdict: Some(&PROVEN),
    }
}

fn no_change(why: &str) -> Claim {
    Claim::Done { no_change_needed: Some(why.to_owned()) }
}

fn landed(landing: LandingExtent, proof: Proof) -> AttemptDecision {
    AttemptDecision::Land { landing, proof }
}

#[track_caller]
fn failed(evidence: &AttemptEvidence<'_>) -> FailureKind {
    match judge(evidence) {
        AttemptDecision::Fail(failure) => failure.kind,
        other => panic!("it did not fail: {other:?}"),
    }
}

fn outcomes() -> Vec<BackendOutcome> {
    let message = String::from("words");
    vec![
        BackendOutcome::Success,
        BackendOutcome::MaxTurns,
        BackendOutcome::ContextLimit,
        BackendOutcome::Budget,
        BackendOutcome::RateLimit { resets_at: Some(7), message: message.clone() },
        BackendOutcome::NotLoggedIn { message: message.clone() },
        BackendOutcome::NotInstalled,
        BackendOutcome::PermissionDenied { tools: vec!["Bash".into()] },
        BackendOutcome::ApiError { status: Some(500), message: message.clone() },
        BackendOutcome::Crash { ending: ProcessEnding::Signal(9), message: message.clone() },
        BackendOutcome::NoOutput,
        BackendOutcome::Malformed { message },
        BackendOutcome::Timeout,
        BackendOutcome::Idle,
        BackendOutcome::Cancelled,
    ]
}

#[test]
fn a_claim_with_a_change_and_green_gates_lands() {
    assert_eq!(judge(&work()), landed(LandingExtent::Complete, Proof::Proven));
}

#[test]
fn gates_are_run_before_anything_lands() {
    for claim in [DONE, Claim::Partial, no_change("it is there")] {
        let evidence = AttemptEvidence { verdict: None, claim: &claim, ..work() };
        assert_eq!(judge(&evidence), AttemptDecision::Gate);
    }
}

#[test]
fn an_empty_diff_fails_whatever_the_prose_says() {
    for claim in [DONE, Claim::Partial, no_change(""), no_change("  \n")] {
        for verdict in [None, Some(&PROVEN), Some(&UNPROVEN), Some(&red())] {
            let evidence = AttemptEvidence { changed: 0, claim: &claim, verdict, ..work() };
            assert_eq!(failed(&evidence), FailureKind::NoChange, "{claim:?} {verdict:?}");
        }
    }
}

#[test]
fn no_change_needed_lands_only_with_green_gates_and_is_told_as_such() {
    let claim = no_change("an earlier task did it");
    let (red, old) = (red(), except_old());
    let with =
        |gates| AttemptEvidence { changed: 0, claim: &claim, verdict: Some(gates), ..work() };
    assert_eq!(judge(&with(&PROVEN)), landed(LandingExtent::Complete, Proof::NoChange));
    assert_eq!(judge(&with(&old)), landed(LandingExtent::Complete, Proof::NoChange));
    assert_eq!(failed(&with(&UNPROVEN)), FailureKind::NoChange);
    assert_eq!(failed(&with(&red)), FailureKind::Gates);
}

#[test]
fn no_change_needed_beside_a_change_is_an_ordinary_claim() {
    let evidence = AttemptEvidence { claim: &no_change("nothing"), ..work() };
    assert_eq!(judge(&evidence), landed(LandingExtent::Complete, Proof::Proven));
}

#[test]
fn without_a_gate_the_work_lands_unproven() {
    let evidence = AttemptEvidence { verdict: Some(&UNPROVEN), ..work() };
    assert_eq!(judge(&evidence), landed(LandingExtent::Complete, Proof::Unproven));
}

#[test]
fn old_failures_are_named_in_the_proof() {
    let AttemptDecision::Land { proof, .. } =
        judge(&AttemptEvidence { verdict: Some(&except_old()), ..work() })
    else {
        panic!("old failures do not block");
    };
    assert_eq!(proof, Proof::ProvenExceptOld(FailingNames::from_iter(["old"])));
    assert_eq!(proof.remark().unwrap(), "proven except 1 old failure");
}

#[test]
fn a_refusal_of_the_gates_is_known_by_what_they_said() {
    for (verdict, kind, message) in [
        (red(), FailureKind::Gates, "test failed"),
        (red_and_blocked(), FailureKind::Judges, "test failed; it changed tests/a.rs"),
        (blocked(), FailureKind::Judges, "it changed tests/a.rs"),
    ] {
        let AttemptDecision::Fail(failure) =
            judge(&AttemptEvidence { verdict: Some(&verdict), ..work() })
        else {
            panic!("{kind:?} must fail");
        };
        let fingerprint = "print".to_owned();
        assert_eq!(failure, AttemptFailure { kind, message: message.to_owned(), fingerprint });
    }
}

#[test]
fn a_green_part_lands_and_a_part_without_a_change_fails() {
    let part = |changed| AttemptEvidence { claim: &Claim::Partial, changed, ..work() };
    assert_eq!(judge(&part(1)), landed(LandingExtent::Partial, Proof::Proven));
    assert!(matches!(judge(&part(0)), AttemptDecision::Fail(f) if f.kind == FailureKind::NoChange));
    let red = red();
    let red = AttemptEvidence { verdict: Some(&red), ..part(1) };
    assert_eq!(failed(&red), FailureKind::Gates);
}

#[test]
fn a_task_that_landed_partly_ten_times_makes_no_progress_with_another_part() {
    let part = |partial_landings, claim| AttemptEvidence { claim, partial_landings, ..work() };
    assert_eq!(judge(&part(9, &Claim::Partial)), landed(LandingExtent::Partial, Proof::Proven));
    let AttemptDecision::Fail(failure) = judge(&part(10, &Claim::Partial)) else {
        panic!("the eleventh part must not land");
    };
    assert_eq!(failure.told(), "partly done ten times");
    assert!(failure.kind.counts(), "the ladder comes to its end");
    assert_eq!(judge(&part(10, &DONE)), landed(LandingExtent::Complete, Proof::Proven));
}

#[test]
fn green_gates_without_a_claim_are_bad_output() {
    assert_eq!(failed(&AttemptEvidence { claim: &Claim::None, ..work() }), FailureKind::BadOutput);
}

#[test]
fn a_blocked_agent_blocks_its_task_with_its_own_words_and_spends_no_retry() {
    let claim = Claim::Blocked { reason: "no key for the API".into() };
    let AttemptDecision::Fail(failure) = judge(&AttemptEvidence { claim: &claim, ..work() }) else {
        panic!("blocked work must not land");
    };
    assert_eq!(failure.kind, FailureKind::Blocked);
    assert_eq!(failure.message, "no key for the API");
    assert!(!failure.kind.counts());
}

#[test]
fn an_agent_that_asks_for_a_person_blocks_its_task() {
    let claim = Claim::NeedsHuman { reason: "which licence?".into() };
    let AttemptDecision::Fail(failure) = judge(&AttemptEvidence { claim: &claim, ..work() }) else {
        panic!("it must not land");
    };
    assert_eq!(failure.kind, FailureKind::Blocked);
    assert!(failure.message.contains("which licence?"), "{}", failure.message);
}

#[test]
fn forbidden_paths_fail_and_are_named() {
    let paths = [String::from("ralph.toml"), String::from("specs/a.md")];
    let AttemptDecision::Fail(failure) = judge(&AttemptEvidence { forbidden: &paths, ..work() })
    else {
        panic!("it must fail");
    };
    assert_eq!(failure.kind, FailureKind::Forbidden);
    assert!(failure.message.contains("ralph.toml, specs/a.md"), "{}", failure.message);
}

#[test]
fn a_usage_limit_waits_until_the_time_the_backend_gave() {
    let outcome = BackendOutcome::RateLimit { resets_at: Some(99), message: "5 hours".into() };
    let decision = judge(&AttemptEvidence { outcome: &outcome, ..work() });
    assert_eq!(decision, AttemptDecision::Wait { until: Some(99), reason: "5 hours".into() });
}

#[test]
fn a_backend_that_cannot_be_used_stops_the_loop_at_once() {
    for outcome in [
        BackendOutcome::NotInstalled,
        BackendOutcome::NotLoggedIn { message: "expired".into() },
        BackendOutcome::PermissionDenied { tools: vec!["Write".into()] },
    ] {
        let decision = judge(&AttemptEvidence { outcome: &outcome, ..work() });
        assert_eq!(decision, AttemptDecision::Stop { reason: outcome.to_string() });
    }
}

#[test]
fn a_run_that_ended_badly_fails_with_its_own_reason_whatever_it_claims() {
    for (outcome, kind) in [
        (BackendOutcome::Timeout, FailureKind::Timeout),
        (BackendOutcome::Idle, FailureKind::Idle),
        (BackendOutcome::ContextLimit, FailureKind::ContextLimit),
        (BackendOutcome::MaxTurns, FailureKind::MaxTurns),
        (BackendOutcome::NoOutput, FailureKind::Backend),
        (BackendOutcome::Malformed { message: "x".into() }, FailureKind::Backend),
        (BackendOutcome::ApiError { status: None, message: "x".into() }, FailureKind::Backend),
        (
            BackendOutcome::Crash { ending: ProcessEnding::Code(1), message: "x".into() },
            FailureKind::Backend,
        ),
    ] {
        assert_eq!(failed(&AttemptEvidence { outcome: &outcome, ..work() }), kind);
        assert!(kind.counts(), "{kind:?}");
    }
}

#[test]
fn what_is_not_the_tasks_fault_spends_no_retry() {
    for outcome in [BackendOutcome::Cancelled, BackendOutcome::Budget] {
        assert!(!failed(&AttemptEvidence { outcome: &outcome, ..work() }).counts(), "{outcome:?}");
    }
    assert!(!FailureKind::Conflict.counts());
    assert!(FailureKind::Crashed.counts(), "too many crashes are counted at last");
}

#[test]
fn the_journals_end_of_a_backend_says_the_same_as_the_judgement_of_it() {
    for outcome in outcomes() {
        let by_end = of_end(&outcome);
        match of_outcome(&outcome) {
            Some(AttemptDecision::Fail(failure)) => assert_eq!(by_end, Some(failure)),
            _ => assert_eq!(by_end, None, "{outcome:?}"),
        }
    }
}

fn claims() -> impl Strategy<Value = Claim> {
    let words = "[ a-z]{0,4}";
    prop_oneof![
        proptest::option::of(words).prop_map(|no_change_needed| Claim::Done { no_change_needed }),
        Just(Claim::Partial),
        Just(Claim::None),
        words.prop_map(|reason| Claim::Blocked { reason }),
        words.prop_map(|reason| Claim::NeedsHuman { reason }),
    ]
}

#[test]
fn work_that_asks_for_a_person_lands_when_it_is_good_and_is_blocked_when_it_is_not() {
    let asks = AttemptEvidence { review: Some("which key?"), ..work() };
    assert_eq!(judge(&asks), landed(LandingExtent::Complete, Proof::Proven));
    for bad in [
        AttemptEvidence { verdict: Some(&red()), ..asks.clone() },
        AttemptEvidence { changed: 0, ..asks.clone() },
        AttemptEvidence { forbidden: &["ralph.toml".to_owned()], ..asks.clone() },
    ] {
        let AttemptDecision::Fail(failure) = judge(&bad) else { panic!("{bad:?} did not fail") };
        assert_eq!(failure.kind, FailureKind::Blocked);
        assert_eq!(failure.message, "a person has to decide: which key?");
    }
    let late = AttemptEvidence { outcome: &BackendOutcome::Timeout, ..asks };
    assert!(matches!(judge(&late), AttemptDecision::Fail(f) if f.kind == FailureKind::Timeout));
}

proptest! {
    #[test]
    fn nothing_lands_without_a_claim_a_good_end_and_gates_that_are_not_red(
        outcome in proptest::sample::select(outcomes()),
        claim in claims(),
        changed in 0..3usize,
        forbidden in proptest::collection::vec("[a-z]{1,3}", 0..2),
        review in proptest::option::of("[a-z]{1,3}"),
        verdict in proptest::sample::select(vec![
            None, Some(PROVEN.clone()), Some(UNPROVEN.clone()), Some(except_old()), Some(red()),
            Some(blocked()),
        ]),
    ) {
        let evidence = AttemptEvidence {
            partial_landings: 0,
            outcome: &outcome, claim: &claim, changed, forbidden: &forbidden,
            review: review.as_deref(), verdict: verdict.as_ref(),
        };
        if let AttemptDecision::Land { landing, proof } = judge(&evidence) {
            prop_assert_eq!(outcome, BackendOutcome::Success);
            let claims = matches!(claim, Claim::Done { .. } | Claim::Partial);
            prop_assert!(claims, "{claim:?}");
            prop_assert!(forbidden.is_empty());
            let verdict = verdict.expect("gates run before anything lands");
            prop_assert!(verdict.passed());
            prop_assert_eq!(landing == LandingExtent::Complete, claim != Claim::Partial);
            prop_assert_eq!(proof == Proof::NoChange, changed == 0);
            prop_assert_eq!(proof == Proof::Unproven, verdict == UNPROVEN);
        }
    }
}

#[test]
fn what_went_wrong_is_said_once() {
    for (outcome, told) in [
        (BackendOutcome::Timeout, "took too long"),
        (BackendOutcome::Idle, "fell silent"),
        (BackendOutcome::ContextLimit, "context full"),
        (BackendOutcome::MaxTurns, "out of turns"),
        (BackendOutcome::Budget, "out of money"),
        (BackendOutcome::NoOutput, "backend failed: ended without a word"),
    ] {
        assert_eq!(of_end(&outcome).unwrap().told(), told);
    }
    let gates = FailureKind::Gates;
    assert_eq!(AttemptFailure::new(gates, "test failed").told(), "gates failed: test failed");
    assert_eq!(AttemptFailure::new(gates, "gates failed").told(), "gates failed");
}
