use std::time::Duration;

use super::bundle::{FIELDS, record, secrets, settings};
use super::*;
use crate::config::GateKind;
use crate::control::CommandQueue;
use crate::cycle::sample_tests::samples;
use crate::dashboard::redact::{HIDDEN, Redactor};
use crate::gate::{Gate, GateEnding, GateNeed, GateRunResult, OutputReader};

fn states(findings: &[DoctorFinding]) -> Vec<FindingState> {
    findings.iter().map(|finding| finding.state).collect()
}

fn check(ending: GateEnding, seconds: u64) -> GateRunResult {
    let gate = Gate {
        name: "test".into(),
        command: "make test".into(),
        kind: GateKind::Test,
        need: GateNeed::Required,
        timeout: Duration::from_secs(60),
    };
    let mut reader = OutputReader::new("");
    reader.line(b"make: not found");
    let reading = reader.finish(&ending);
    let log = Some("the.log".into());
    GateRunResult::new(&gate, ending, reading, log, Duration::from_secs(seconds))
}

#[test]
fn git_is_old_new_missing_or_unreadable() {
    for (said, state) in [
        (Some("git version 2.47.3"), FindingState::Ok),
        (Some("git version 2.40.1 (Apple Git-154)"), FindingState::Ok),
        (Some("git version 3.0.0"), FindingState::Ok),
        (Some("git version 2.39.5"), FindingState::Problem),
        (Some("something else"), FindingState::Unknown),
        (None, FindingState::Problem),
    ] {
        let finding = git_version(said);
        assert_eq!(finding.state, state, "{said:?}");
        assert_eq!(finding.fix.is_some(), state != FindingState::Ok, "{said:?}");
    }
}

#[test]
fn a_repository_is_judged_by_what_would_stop_a_loop() {
    let fine = RepositoryFacts {
        branch: Some("refs/heads/main".into()),
        has_commit: true,
        changed: 2,
        ..RepositoryFacts::default()
    };
    let found = repository(&fine);
    assert_eq!(states(&found), [FindingState::Ok]);
    assert_eq!(found[0].what, "on main, 2 files not committed (they stay as they are)");
    let detached = RepositoryFacts { branch: None, ..fine.clone() };
    assert_eq!(states(&repository(&detached)), [FindingState::Warning]);
    let merging = RepositoryFacts {
        unfinished: Some((
            "merge".into(),
            "git merge --continue".into(),
            "git merge --abort".into(),
        )),
        conflicts: 1,
        lock: Some(("index.lock".into(), true)),
        ..fine.clone()
    };
    assert_eq!(
        states(&repository(&merging)),
        [FindingState::Problem, FindingState::Problem, FindingState::Warning]
    );
    let foreign = RepositoryFacts { lock: Some(("index.lock".into(), false)), ..fine };
    let found = repository(&foreign);
    assert_eq!(
        (found[0].state, &found[0].remedy),
        (FindingState::Problem, &None),
        "it is not ours"
    );
}

#[test]
fn a_gate_that_cannot_run_is_a_problem_and_one_that_fails_already_is_not() {
    let minute = Duration::from_secs(60);
    for (ending, seconds, state) in [
        (GateEnding::Code(0), 1, FindingState::Ok),
        (GateEnding::Code(0), 40, FindingState::Warning),
        (GateEnding::Code(1), 1, FindingState::Warning),
        (GateEnding::Code(127), 0, FindingState::Problem),
        (GateEnding::Code(126), 0, FindingState::Problem),
        (GateEnding::NotStarted("no sh".into()), 0, FindingState::Problem),
        (GateEnding::TimedOut, 60, FindingState::Problem),
        (GateEnding::Signal(9), 1, FindingState::Warning),
    ] {
        let finding = gate(&check(ending.clone(), seconds), minute);
        assert_eq!(finding.state, state, "{ending:?}");
        assert!(finding.what.starts_with("test: "), "{}", finding.what);
    }
    let finding = gate(&check(GateEnding::Code(127), 0), minute);
    assert!(finding.what.ends_with("make: not found"), "{}", finding.what);
}

#[test]
fn room_runs_out_by_degrees() {
    let states = [50 << 20, 500 << 20, 5 << 30].map(|free| disk("/", free).state);
    assert_eq!(states, [FindingState::Problem, FindingState::Warning, FindingState::Ok]);
    assert_eq!(disk("/", 500 << 20).what, "only 500 MiB free at /");
}

#[test]
fn commands_for_a_loop_that_is_gone_are_old_and_those_for_the_next_one_are_not() {
    let queue = |text: &str| CommandQueue::parse(text).unwrap().entries();
    let next = queue(
        r#"[{"id":"1","command":"note","note":"hi"},{"id":"2","command":"skip","task":"t-aaaa"}]"#,
    );
    assert_eq!(commands(&next).what, "2 commands for the next loop");
    assert_eq!(commands(&[]).state, FindingState::Ok);
    let old = queue(
        r#"[{"id":"1","command":"pause"},{"id":"2","command":"note","note":"x"},{"id":"3","command":"dance"}]"#,
    );
    let finding = commands(&old);
    assert_eq!(finding.what, "2 commands for a loop that is gone: pause, unreadable");
    assert_eq!(finding.remedy, Some(Remedy::OldCommands));
}

#[test]
fn a_summary_counts_what_is_not_ok() {
    let mut report = DoctorReport::default();
    assert_eq!(report.summary(), "Nothing is wrong.");
    report.findings.push(DoctorFinding::new(FindingArea::Disk, FindingState::Warning, "x", "y"));
    report.findings.push(commands(
        &CommandQueue::parse(r#"[{"id":"1","command":"pause"}]"#).unwrap().entries(),
    ));
    report.findings.push(DoctorFinding::new(FindingArea::Git, FindingState::Problem, "x", "y"));
    assert!(report.has_problem());
    assert_eq!(report.summary(), "1 problem, 2 warnings. `ralph doctor --fix` mends one of them.");
}

#[test]
fn a_record_leaves_without_tasks_code_and_secrets() {
    let line = r#"{"at":"now","record":"fail_intent","attempt":"a1","context":"fn main() {}",
        "failure":{"kind":"gates","message":"red with sk-abcdefghij1234567890\nfn main"},
        "task_id":"t-aaaa","name":"the secret plan","base":{"tree":"x"},"summary":"I wrote it",
        "task":{"id":"t-aaaa","name":"a secret task"},
        "checks":[{"name":"test","passed":false,"preexisting":false,"output":"src"}]}"#;
    let shown = record(line, &Redactor::default()).unwrap();
    for gone in
        ["fn main", "the secret plan", "a secret task", "sk-abc", "tree", "I wrote it", "src"]
    {
        assert!(!shown.contains(gone), "{gone}: {shown}");
    }
    for kept in ["fail_intent", "t-aaaa", "gates", "\"test\"", HIDDEN] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
    assert_eq!(record("not json", &Redactor::default()), None);
}

#[test]
fn every_field_that_may_leave_is_a_field_of_some_record() {
    let written: String =
        samples().iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let unknown: Vec<_> =
        FIELDS.iter().filter(|field| !written.contains(&format!("\"{field}\":"))).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn settings_leave_with_their_shape_and_without_what_is_private() {
    let text = "backend = \"x\"\n\n[backends.x]\nprogram = \"x\"\n[backends.x.env]\nPLAIN = \"hunter2\"\n\
                [[notify]]\nheaders = { auth = \"hunter2\" }\napi_key = \"abcdef123\"\n";
    let shown = settings(text, &Redactor::default());
    assert!(!shown.contains("hunter2") && !shown.contains("abcdef123"), "{shown}");
    assert!(shown.contains("backend = \"x\"") && shown.contains("PLAIN = "), "{shown}");
    assert!(settings("= broken hunter2", &Redactor::default()).contains("left out"));
}

#[test]
fn variables_are_secret_by_their_name() {
    let all = [("MY_API_KEY", "abcdefgh"), ("PATH", "/usr/bin:/bin"), ("X_TOKEN", "short")];
    assert_eq!(secrets(all.into_iter()), ["abcdefgh"]);
}

#[test]
fn leftovers_are_mended_where_nothing_can_be_lost_and_told_where_a_person_decides() {
    assert_eq!(states(&leftovers(&RunLeftovers::default())), [FindingState::Ok]);
    let found = RunLeftovers {
        processes: vec![(7, "claude".into())],
        remains: vec!["ralph/.ralph-tmp-x".into()],
        torn: vec!["ralph/plan.jsonl".into()],
        torn_journal: true,
        held_inbox: Some(true),
        old_salvage: 2,
        ..RunLeftovers::default()
    };
    let all = leftovers(&found);
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|f| f.remedy.is_some() && f.state == FindingState::Warning), "{all:?}");
    let found = RunLeftovers { processes: Vec::new(), ..found };
    let unsure = RunLeftovers { torn: Vec::new(), torn_journal: false, old_salvage: 0, ..found };
    let unsure = RunLeftovers {
        remains: Vec::new(),
        held_inbox: Some(false),
        watched_plan: true,
        put_aside: vec!["ralph/plan.jsonl.torn".into()],
        ..unsure
    };
    let all = leftovers(&unsure);
    assert!(all.iter().all(|f| f.remedy.is_none() && f.fix.is_some()), "{all:?}");
    assert_eq!(states(&all), [FindingState::Warning, FindingState::Warning, FindingState::Warning]);
}

#[test]
fn a_secret_is_known_line_by_line_as_json_and_around_a_star() {
    let all =
        [("A_TOKEN", "first-line-9911\nsecond-line-8812"), ("B_KEY", "abc\"defghijk*lmnopqrst")];
    let known = secrets(all.into_iter());
    for form in
        ["first-line-9911", "second-line-8812", "abc\"defghijk", "abc\\\"defghijk", "lmnopqrst"]
    {
        assert!(known.iter().any(|pattern| pattern == form), "{form}: {known:?}");
    }
    assert!(known.iter().all(|pattern| !pattern.contains('*') && pattern.len() >= 8));
}
