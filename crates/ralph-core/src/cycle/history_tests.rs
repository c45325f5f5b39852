use proptest::prelude::*;

use super::super::attempts::AttemptPhase;
use super::super::model_tests::*;
use super::*;
use crate::backend::BackendOutcome;
use crate::control::LoopCommand;

fn red(message: &str) -> AttemptFailure {
    AttemptFailure::new(FailureKind::Gates, message)
}

#[test]
fn an_attempt_passes_through_its_phases_and_closes() {
    let records = lands("a", 1, "t-1", LandingExtent::Complete);
    let phase = |n: usize| history(records[..n].to_vec()).open.map(|open| open.phase());
    assert_eq!(phase(0), None);
    assert_eq!(phase(1), Some(AttemptPhase::Backend));
    assert_eq!(phase(2), Some(AttemptPhase::Gates));
    assert_eq!(phase(3), Some(AttemptPhase::Gates), "a verdict alone changes nothing");
    assert_eq!(phase(4), Some(AttemptPhase::Landing));
    assert_eq!(phase(5), None);
}

#[test]
fn a_landing_that_a_hook_refused_becomes_a_failure() {
    let mut records = lands("a", 1, "t-1", LandingExtent::Complete);
    records.pop();
    records.push(fail_intent("a", AttemptFailure::new(FailureKind::Hook, "pre-commit said no")));
    let rolling = history(records.clone());
    let open = rolling.open.expect("it is still open");
    assert!(open.phase() == AttemptPhase::RollingBack && open.intent.is_some());
    records.push(rolled_back("a"));
    let after = history(records);
    assert!(matches!(&after.attempts[0].fate,
        AttemptState::Failed { failure, salvage: Some(_) } if failure.kind == FailureKind::Hook));
    let failure = after.attempts[0].fate.failure().unwrap();
    assert!(failure.retry_context(None).contains("pre-commit said no"));
}

#[test]
fn a_landing_that_turns_out_true_after_a_refusal_keeps_how_it_was_meant() {
    let mut records = lands("a", 1, "t-1", LandingExtent::Partial);
    records.insert(4, fail_intent("a", AttemptFailure::new(FailureKind::Hook, "no")));
    let fate = &history(records).attempts[0].fate.clone();
    let AttemptState::Landed { landing, proof, .. } = fate else { panic!("{fate:?}") };
    assert_eq!((landing, proof), (&LandingExtent::Partial, &Proof::Proven));
}

#[test]
fn a_landing_nobody_announced_never_finishes_a_task() {
    let fate = history([start("a", 1, "t-1"), landed("a")]).attempts[0].fate.clone();
    assert!(matches!(
        fate,
        AttemptState::Landed { landing: LandingExtent::Partial, proof: Proof::Unproven, .. }
    ));
}

#[test]
fn a_limited_attempt_is_uncounted_and_its_number_is_used_again() {
    let mut records = vec![run("r1", 0)];
    records.extend(meets_limit("a", 1, "t-1"));
    let limited = history(records.clone());
    assert_eq!(limited.attempts[0].fate, AttemptState::Limited);
    assert_eq!((limited.counted, limited.next_iteration()), (0, 1));
    assert!(limited.crash_is_free("t-1") && limited.failures("t-1").is_empty());
    records.extend(lands("b", 1, "t-1", LandingExtent::Complete));
    let after = history(records);
    assert_eq!((after.counted, after.iteration, after.next_iteration()), (1, 1, 2));
}

#[test]
fn a_limit_survives_a_restart_and_ends_with_the_wait_or_the_next_attempt() {
    let mut records = vec![run("r1", 0)];
    records.extend(meets_limit("a", 1, "t-1"));
    records.push(run("r2", 0));
    let waiting = history(records.clone());
    assert_eq!(waiting.wait.as_ref().map(|w| w.until), Some(1_000));
    let with = |backend: &str| {
        let backend = backend.to_owned();
        attempt_started(AttemptStart { backend, ..started("b", 1, "t-1") })
    };
    for (record, over) in
        [(JournalRecord::Waited, true), (with("claude"), true), (with("codex"), false)]
    {
        let mut records = records.clone();
        records.push(record);
        assert_eq!(history(records).wait.is_none(), over);
    }
}

#[test]
fn numbers_go_on_for_ever_and_only_resume_goes_on_counting() {
    let mut records = vec![run("r1", 0)];
    records.extend(lands("a", 1, "t-1", LandingExtent::Complete));
    records.extend(lands("b", 2, "t-2", LandingExtent::Complete));
    let first = history(records.clone());
    assert_eq!((first.iteration, first.counted), (2, 2));
    for (counted, expected) in [(0, 1), (first.counted, 3)] {
        let mut records = records.clone();
        records.push(run("r2", counted));
        records.push(start("c", first.next_iteration(), "t-3"));
        let second = history(records);
        assert_eq!((second.iteration, second.counted), (3, expected));
    }
}

#[test]
fn three_crashes_of_a_task_are_free_and_another_task_has_its_own_three() {
    let mut records = Vec::new();
    for n in 1..=3u32 {
        assert!(history(records.clone()).crash_is_free("t-1"), "crash {n}");
        records.extend(crashes(&format!("a{n}"), n, "t-1"));
    }
    let after = history(records.clone());
    assert!(!after.crash_is_free("t-1") && after.crash_is_free("t-2"));
    records.extend(lands("b", 4, "t-1", LandingExtent::Partial));
    assert!(history(records).crash_is_free("t-1"), "a landing starts the count again");
}

#[test]
fn a_crash_after_the_backend_ended_counts_as_one_too() {
    let interrupted = || AttemptFailure::new(FailureKind::Interrupted, "x");
    let mut records = Vec::new();
    for n in 1..=3 {
        records.extend(fails(&n.to_string(), n, "t-1", interrupted()));
    }
    assert!(!history(records).crash_is_free("t-1"));
}

#[test]
fn an_attempt_that_somebody_cancelled_is_no_crash() {
    let mut records = Vec::new();
    for n in 1..=5 {
        let attempt = n.to_string();
        let failure = AttemptFailure::new(FailureKind::Interrupted, "as asked");
        records.extend([
            start(&attempt, n, "t-1"),
            ended(&attempt, &BackendOutcome::Cancelled),
            fail_intent(&attempt, failure),
            rolled_back(&attempt),
        ]);
    }
    assert!(history(records).crash_is_free("t-1"));
}

#[test]
fn what_is_spent_counts_for_its_run_and_for_ever() {
    let mut records = vec![run("r1", 0)];
    records.extend(fails("a", 1, "t-1", red("x")));
    records.push(run("r2", 0));
    records.extend(lands("b", 2, "t-1", LandingExtent::Complete));
    let after = history(records);
    assert_eq!((after.cost, after.total_cost, after.cost_unknown), (0.5, 1.0, false));
}

#[test]
fn the_cost_of_an_attempt_that_a_crash_cut_off_is_unknown_not_zero() {
    assert!(history(crashes("a", 1, "t-1")).cost_unknown);
    let unpriced = BackendEnd { cost: None, ..end("a", &BackendOutcome::Success) };
    assert!(history([start("a", 1, "t-1"), backend_ended(unpriced)]).cost_unknown);
}

#[test]
fn a_run_that_ran_out_of_money_says_so_until_the_next_one_starts() {
    let broke = AttemptFailure::new(FailureKind::Budget, "no money");
    let mut records = vec![run("r1", 0)];
    records.extend(fails("a", 1, "t-1", broke));
    assert!(history(records.clone()).out_of_money);
    records.push(run("r2", 0));
    assert!(!history(records).out_of_money);
}

#[test]
fn the_failures_of_a_task_are_those_since_it_last_landed_without_interruptions() {
    let mut records = fails("a", 1, "t-1", red("old"));
    records.extend(lands("b", 2, "t-1", LandingExtent::Partial));
    records.extend(fails("c", 3, "t-1", red("first")));
    records.extend(fails("d", 4, "t-2", red("of another task")));
    records.extend(crashes("e", 5, "t-1"));
    records.extend(meets_limit("f", 6, "t-1"));
    records.extend(fails("g", 6, "t-1", red("second")));
    let after = history(records);
    let messages: Vec<_> = after.failures("t-1").iter().map(|(_, f)| f.message.clone()).collect();
    assert_eq!(messages, ["first", "second"]);
    assert!(after.partly_done("t-1") && !after.partly_done("t-2"));
}

#[test]
fn a_note_reaches_exactly_one_prompt_that_led_somewhere() {
    let note = command("c1", &LoopCommand::Note("use the cache".into()));
    let mut records = vec![note];
    for failed in [crashes("a", 1, "t-1"), meets_limit("b", 2, "t-1")] {
        records.extend(failed);
        assert_eq!(history(records.clone()).notes, ["use the cache"], "it comes back");
    }
    records.extend(lands("c", 2, "t-1", LandingExtent::Partial));
    assert!(history(records).notes.is_empty());
}

#[test]
fn commands_are_remembered_for_ever_and_a_pause_until_the_next_run() {
    let mut records = vec![run("r1", 0), command("c1", &LoopCommand::Pause)];
    assert!(history(records.clone()).paused);
    records.push(command("c2", &LoopCommand::Resume));
    assert!(!history(records.clone()).paused);
    records.extend([command("c3", &LoopCommand::Pause), run("r2", 0)]);
    let after = history(records);
    assert!(!after.paused);
    assert_eq!(after.commands.into_iter().collect::<Vec<_>>(), ["c1", "c2", "c3"]);
}

#[test]
fn an_attempt_that_the_operator_ends_is_no_crash_and_no_iteration() {
    for (asked, free) in [
        (LoopCommand::KillAttempt, true),
        (LoopCommand::Skip("t-1".into()), true),
        (LoopCommand::Skip("t-2".into()), false),
    ] {
        let mut records = vec![run("r1", 0)];
        for id in ["a", "b", "c"] {
            records.extend([start(id, 1, "t-1"), command(id, &asked), discarded(id, None)]);
        }
        let after = history(records);
        assert_eq!(after.crash_is_free("t-1"), free, "{asked:?}");
        assert_eq!(after.counted == 0, free, "{asked:?}");
    }
}

#[test]
fn only_attempts_of_the_last_run_belong_to_it() {
    let mut records = vec![run("r0", 0)];
    records.extend(lands("a", 1, "t-1", LandingExtent::Complete));
    records.push(run("r1", 0));
    let mut other = started("b", 2, "t-2");
    other.run = "r0".into();
    records.push(attempt_started(other));
    let ids: Vec<_> = history(records).of_run().map(|view| view.started.attempt.clone()).collect();
    assert_eq!(ids, ["a"], "the model's attempts belong to r1");
}

#[test]
fn every_record_reads_back_as_it_was_written() {
    let mut records =
        vec![run("r1", 2), JournalRecord::Waited, JournalRecord::Indexed { iteration: 4 }];
    records.extend(lands("a", 1, "t-1", LandingExtent::Partial));
    records.extend(fails("b", 2, "t-1", red("x")));
    records.extend(meets_limit("c", 3, "t-1"));
    records.push(command("c1", &LoopCommand::Note("n".into())));
    for entry in entries(records) {
        let line = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<JournalEntry>(&line).unwrap(), entry, "{line}");
    }
}

#[test]
fn a_journal_from_before_the_new_fields_still_reads() {
    let line = r#"{"at":"t","record":"backend_ended","attempt":"a","outcome":"success",
        "message":"finished","claim":{"kind":"partial"},"candidate":{"paths":[]},"changed_files":1}"#;
    let entry: JournalEntry = serde_json::from_str(line).unwrap();
    assert!(
        matches!(entry.record, JournalRecord::BackendEnded { end, .. } if end.handoff_bytes == 0)
    );
}

/// How one attempt of a random story goes.
#[derive(Clone, Copy, Debug)]
enum Course {
    Lands(LandingExtent),
    Fails,
    HookRefuses,
    Limited,
    Crashes,
    NewRun,
}

fn stories() -> impl Strategy<Value = Vec<JournalRecord>> {
    let course = proptest::sample::select(vec![
        Course::Lands(LandingExtent::Complete),
        Course::Lands(LandingExtent::Partial),
        Course::Fails,
        Course::HookRefuses,
        Course::Limited,
        Course::Crashes,
        Course::NewRun,
    ]);
    proptest::collection::vec((course, 0..3u8), 0..12).prop_map(|courses| {
        let mut records = vec![run("r1", 0)];
        for (n, (course, task)) in courses.into_iter().enumerate() {
            let (attempt, task) = (format!("a{n}"), format!("t-{task}"));
            let iteration = history(records.clone()).next_iteration();
            records.extend(match course {
                Course::Lands(landing) => lands(&attempt, iteration, &task, landing),
                Course::Fails => fails(&attempt, iteration, &task, red("x")),
                Course::Limited => meets_limit(&attempt, iteration, &task),
                Course::Crashes => crashes(&attempt, iteration, &task),
                Course::NewRun => vec![run("r1", 0)],
                Course::HookRefuses => {
                    let mut records = lands(&attempt, iteration, &task, LandingExtent::Complete);
                    records.pop();
                    let failure = AttemptFailure::new(FailureKind::Hook, "no");
                    records.extend([fail_intent(&attempt, failure), rolled_back(&attempt)]);
                    records
                }
            });
        }
        records
    })
}

proptest! {
    #[test]
    fn any_beginning_of_any_story_adds_up_and_adds_up_alike_twice(story in stories()) {
        let entries = entries(story);
        for n in 0..=entries.len() {
            let read = History::of(&entries[..n]);
            prop_assert_eq!(&read, &History::of(&entries[..n]));
            let open: Vec<_> = read.attempts.iter().filter(|a| a.fate == AttemptState::Open).collect();
            prop_assert_eq!(open.len(), usize::from(read.open.is_some()));
            if let (Some(view), Some(open)) = (open.first(), &read.open) {
                prop_assert_eq!(&view.started, &open.started);
                prop_assert_eq!(&view.backend, &open.ended);
                prop_assert!(open.ended.is_some() || open.phase() != AttemptPhase::Landing, "{open:?}");
            }
            prop_assert_eq!(
                read.attempts.iter().all(|a| a.ended_at.is_some()),
                read.open.is_none()
            );
        }
    }

    #[test]
    fn no_number_is_used_twice_except_after_a_usage_limit(story in stories()) {
        let after = history(story);
        for pair in after.attempts.windows(2) {
            let step = u32::from(pair[0].fate != AttemptState::Limited);
            prop_assert_eq!(pair[1].started.iteration, pair[0].started.iteration + step);
        }
    }

    #[test]
    fn the_count_of_a_run_is_its_attempts_without_the_limited_ones(story in stories()) {
        let last_run = story.iter().rposition(|r| matches!(r, JournalRecord::RunStarted(_))).unwrap_or(0);
        let after = history(story[last_run..].to_vec());
        let counted = after.attempts.iter().filter(|a| a.fate != AttemptState::Limited).count();
        prop_assert_eq!(after.counted, u32::try_from(counted).unwrap());
    }
}

#[test]
fn a_second_verdict_on_the_same_attempt_keeps_its_output() {
    let red = || match verdict("a", false) {
        JournalRecord::Judged(mut red) => {
            red.checks[0].excerpt = "the line that matters".to_owned();
            JournalRecord::Judged(red)
        }
        other => other,
    };
    let after = history([start("a", 1, "t-1"), ended("a", &BackendOutcome::Success), red(), red()]);
    let verdict = after.attempts[0].verdict.as_ref().unwrap();
    assert_eq!(verdict.checks[0].excerpt, "the line that matters");
}
