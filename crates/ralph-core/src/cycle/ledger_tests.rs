use super::*;

const AT: &str = "2025-01-20T10:30:00Z";

fn text(format: PlanFormat) -> &'static str {
    match format {
        PlanFormat::Jsonl => "{\"t\":\"task\",\"id\":\"t-1a2b\",\"name\":\"one\",\"s\":\"p\"}\n",
        PlanFormat::Deluxe => {
            "{\"tasks\":[{\"id\":\"t-1a2b\",\"title\":\"one\",\"status\":\"pending\"}]}\n"
        }
        PlanFormat::Progress => {
            "# Progress: x\n\n## Status\n\nIn progress\n\n## Tasks\n\n- [ ] one\n"
        }
        PlanFormat::Implementation => {
            "{\"specs\":[{\"id\":\"s\",\"name\":\"S\",\"tasks\":[{\"id\":\"t-1a2b\",\
             \"description\":\"one\",\"status\":\"pending\"}]}]}\n"
        }
    }
}

fn parsed(format: PlanFormat, text: &str) -> Plan {
    codec(format).parse(text).unwrap()
}

fn only(format: PlanFormat, text: &str) -> Option<Task> {
    parsed(format, text).tasks.into_iter().next()
}

fn id(format: PlanFormat) -> Id {
    only(format, text(format)).unwrap().id
}

fn note(task: &Id) -> AttemptNote<'_> {
    let (started, took, summary) = ("2025-01-20 10:30", "4m 2s", "wrote it");
    AttemptNote { task, iteration: 3, started, took, summary, story: "", at: AT, keep: 5 }
}

fn defeat(failure: &AttemptFailure, retries: u32) -> FailedAttempt<'_> {
    FailedAttempt { failure, retries, max_retries: 2, issue: "i-zzzz".into() }
}

#[test]
fn a_landed_task_is_accepted_in_every_format_and_landing_it_again_changes_nothing() {
    for format in PlanFormat::ALL {
        let id = id(format);
        let begun = begin(&parsed(format, text(format)), text(format), &id, AT).unwrap();
        let landed =
            land(&parsed(format, &begun), &begun, LandingExtent::Complete, &note(&id)).unwrap();
        let plan = codec(format).parse(&landed).unwrap();
        assert!(
            PlanLookup::new(&plan).fate(&id).satisfies(crate::plan::DependencyTrust::Verified),
            "{landed}"
        );
        assert_eq!(
            land(&parsed(format, &landed), &landed, LandingExtent::Complete, &note(&id)).unwrap(),
            landed
        );
    }
}

#[test]
fn formats_that_have_a_word_for_it_say_that_a_task_is_worked_on() {
    for format in [PlanFormat::Deluxe, PlanFormat::Implementation] {
        let begun = begin(&parsed(format, text(format)), text(format), &id(format), AT).unwrap();
        assert!(begun.contains("in_progress"), "{begun}");
        let failure = AttemptFailure::new(FailureKind::Interrupted, "ended");
        let back = fail(&parsed(format, &begun), &begun, &defeat(&failure, 0), &note(&id(format)))
            .unwrap();
        assert_eq!(only(format, &back).unwrap().state, TaskState::Pending, "{back}");
    }
}

#[test]
fn failures_count_until_the_limit_and_then_the_task_is_given_up() {
    for format in PlanFormat::ALL {
        let id = id(format);
        let failure = AttemptFailure::new(FailureKind::Gates, "test is red");
        let mut now = text(format).to_owned();
        for retries in 1..=2 {
            now =
                fail(&parsed(format, &now), &now, &defeat(&failure, retries), &note(&id)).unwrap();
            let again =
                fail(&parsed(format, &now), &now, &defeat(&failure, retries), &note(&id)).unwrap();
            assert_eq!(again, now, "a failure that is written down is not counted twice");
            let task = only(format, &now).unwrap();
            assert_eq!((task.retries, task.state), (retries, TaskState::Pending), "{now}");
        }
        now = fail(&parsed(format, &now), &now, &defeat(&failure, 3), &note(&id)).unwrap();
        let plan = codec(format).parse(&now).unwrap();
        match plan.task(&id) {
            Some(task) => assert!(matches!(task.state, TaskState::Failed(_)), "{now}"),
            None => assert_eq!(PlanLookup::new(&plan).fate(&id), LookedUpTask::Failed, "{now}"),
        }
    }
}

#[test]
fn a_blocked_task_keeps_its_retries_and_says_why() {
    for format in PlanFormat::ALL {
        let id = id(format);
        let failure = AttemptFailure::new(FailureKind::Blocked, "needs a key");
        let now =
            fail(&parsed(format, text(format)), text(format), &defeat(&failure, 0), &note(&id))
                .unwrap();
        let task = only(format, &now).unwrap();
        assert_eq!(task.state, TaskState::Blocked("needs a key".into()), "{now}");
        assert_eq!(task.retries, 0);
    }
}

#[test]
fn an_undone_landing_leaves_the_task_as_it_was() {
    for format in PlanFormat::ALL {
        let before = only(format, text(format)).unwrap();
        let landed = land(
            &parsed(format, text(format)),
            text(format),
            LandingExtent::Complete,
            &note(&before.id),
        )
        .unwrap();
        let back = undo(&parsed(format, &landed), &landed, &before, AT).unwrap();
        let task = only(format, &back).unwrap();
        assert_eq!((task.id, task.state), (before.id.clone(), TaskState::Pending), "{back}");
        assert_eq!(
            undo(&parsed(format, text(format)), text(format), &before, AT).unwrap(),
            text(format)
        );
    }
}

#[test]
fn implementation_json_says_who_wrote_it_and_when() {
    let format = PlanFormat::Implementation;
    let landed = land(
        &parsed(format, text(format)),
        text(format),
        LandingExtent::Complete,
        &note(&"t-1a2b".into()),
    )
    .unwrap();
    assert!(landed.contains("\"updatedBy\":\"build-mode\""), "{landed}");
    assert!(landed.contains("\"updatedAt\":\"2025-01-20T10:30:00Z\""), "{landed}");
}

#[test]
fn progress_md_gets_an_attempt_a_log_row_with_the_true_time_and_at_last_its_marker() {
    let format = PlanFormat::Progress;
    let id = id(format);
    let landed =
        land(&parsed(format, text(format)), text(format), LandingExtent::Complete, &note(&id))
            .unwrap();
    assert!(landed.contains("| 3 | 2025-01-20 10:30 | 4m 2s | 1 | wrote it |"), "{landed}");
    assert!(landed.contains("- Result: done: wrote it"), "{landed}");
    assert!(!codec(format).parse(&landed).unwrap().says_done);
    let complete = complete(&parsed(format, &landed), &landed).unwrap();
    assert!(codec(format).parse(&complete).unwrap().says_done, "{complete}");
    assert_eq!(super::complete(&parsed(format, text(format)), text(format)).unwrap(), text(format));
}

#[test]
fn an_undone_landing_leaves_no_record_of_itself() {
    let (format, id) = (PlanFormat::Jsonl, id(PlanFormat::Jsonl));
    let before = only(format, text(format)).unwrap();
    let old = text(format);
    let landed = land(&parsed(format, old), old, LandingExtent::Complete, &note(&id)).unwrap();
    let undone = undo(&parsed(format, &landed), &landed, &before, AT).unwrap();
    assert!(!undone.contains("accept"), "{undone}");
    let again =
        land(&parsed(format, &undone), &undone, LandingExtent::Complete, &note(&id)).unwrap();
    assert_eq!(again.matches("accept").count(), 1, "{again}");
}
