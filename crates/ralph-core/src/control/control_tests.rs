//! Commands as people, dashboards and strangers write them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn named(text: &str) -> Vec<QueuedCommand> {
    let mut queue = CommandQueue::parse(text).unwrap();
    let mut n = 0;
    queue.name_all(&mut || {
        n += 1;
        format!("new{n}")
    });
    queue.entries()
}

#[test]
fn the_three_lines_of_the_format_are_read() {
    let entries = named(
        r#"{"pending": [{"command": "pause"},
            {"command": "inject-note", "note": "Check auth module"},
            {"command": "skip-task", "task_id": "T-005"}]}"#,
    );
    let read: Vec<_> = entries.into_iter().map(|entry| entry.read.unwrap()).collect();
    let note = LoopCommand::Note("Check auth module".into());
    assert_eq!(read, [LoopCommand::Pause, note, LoopCommand::Skip(Id::new("T-005"))]);
}

#[test]
fn an_entry_without_an_id_gets_one_and_keeps_it() {
    let mut queue = CommandQueue::parse(
        r#"["stop", {"command": "pause", "id": 7}, {"command": "pause", "id": 7}]"#,
    )
    .unwrap();
    let mut n = 0;
    let mut mint = || {
        n += 1;
        format!("new{n}")
    };
    assert!(queue.name_all(&mut mint));
    assert!(!queue.name_all(&mut mint));
    let ids: Vec<String> = CommandQueue::parse(&queue.text())
        .unwrap()
        .entries()
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    assert_eq!(ids, ["new1", "7", "new2"]);
}

#[test]
fn what_ralph_does_not_know_stays_in_the_file() {
    let mut queue =
        CommandQueue::parse(r#"{"owner": "me", "pending": [{"command": "dance", "id": "a"}]}"#)
            .unwrap();
    queue.push(&LoopCommand::Stop, "b");
    queue.remove(&BTreeSet::from(["c".to_owned()]));
    let again = CommandQueue::parse(&queue.text()).unwrap();
    assert!(queue.text().contains(r#""owner": "me""#));
    let unknown = again.entries()[0].read.clone().unwrap_err();
    assert_eq!(unknown, "there is no command `dance`");
    assert_eq!(again.entries()[1].read, Ok(LoopCommand::Stop));
    queue.remove(&BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    assert!(queue.entries().is_empty());
}

#[test]
fn an_empty_file_is_an_empty_queue_and_a_damaged_one_is_none() {
    assert_eq!(CommandQueue::parse(" \n"), Ok(CommandQueue::default()));
    assert_eq!(CommandQueue::parse("{}"), Ok(CommandQueue::default()));
    assert!(matches!(CommandQueue::parse("{\"pending\": ["), Err(QueueError::Json(_))));
    assert_eq!(CommandQueue::parse("{\"pending\": 3}"), Err(QueueError::Shape));
    assert_eq!(CommandQueue::parse("3"), Err(QueueError::Shape));
}

#[test]
fn only_six_settings_can_be_changed_and_only_to_values_that_fit() {
    let mut config = Config::default();
    for (name, value) in [
        ("RALPH_MIN_DELAY_SECONDS", "30"),
        ("gate_strategy", "lenient"),
        ("memory.compaction_interval", "4"),
        ("RALPH_COMPACTION_THRESHOLD_BYTES", "1000"),
        ("max_turns", "9"),
        ("mode", "handoff-plus-index"),
    ] {
        CheckedSetting::new(name, value).unwrap().apply(&mut config).unwrap();
    }
    assert_eq!(config.min_delay.as_secs(), 30);
    assert_eq!(config.memory.compaction_interval, 4);
    assert_eq!(config.max_turns.map(std::num::NonZeroU32::get), Some(9));
    for (name, value) in
        [("backend", "sim"), ("mode", "fast"), ("mode", "a;b"), ("max_turns", "0"), ("mode", "")]
    {
        assert!(CheckedSetting::new(name, value).is_err(), "{name} = {value}");
    }
}

#[test]
fn a_command_means_what_the_moment_allows() {
    let skip = LoopCommand::Skip(Id::new("t-1"));
    assert_eq!(
        effect(&skip, LoopActivity::Attempt("t-1")),
        CommandEffect::EndThenSkip(Id::new("t-1"))
    );
    assert_eq!(effect(&skip, LoopActivity::Attempt("t-2")), CommandEffect::Skip(Id::new("t-1")));
    assert_eq!(effect(&LoopCommand::KillAttempt, LoopActivity::Asking), CommandEffect::End);
    assert!(matches!(
        effect(&LoopCommand::KillAttempt, LoopActivity::Nothing),
        CommandEffect::Nothing(_)
    ));
    assert!(matches!(
        effect(&LoopCommand::Stop, LoopActivity::Starting),
        CommandEffect::Nothing(_)
    ));
    assert_eq!(effect(&LoopCommand::Stop, LoopActivity::Nothing), CommandEffect::Stop);
    assert_eq!(effect(&LoopCommand::Pause, LoopActivity::Starting), CommandEffect::Noted);
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_be_read_or_refused(text in "\\PC{0,80}") {
        if let Ok(mut queue) = CommandQueue::parse(&text) {
            let mut n = 0;
            queue.name_all(&mut || { n += 1; format!("x{n}") });
            let count = queue.entries().len();
            prop_assert_eq!(CommandQueue::parse(&queue.text()).unwrap().entries().len(), count);
        }
    }

    #[test]
    fn what_is_sent_is_what_is_read(note in "[ -~]{1,60}", id in "[a-z0-9]{1,9}") {
        prop_assume!(!note.trim().is_empty());
        for command in [LoopCommand::Note(note.trim().to_owned()), LoopCommand::Skip(Id::new(id.as_str())),
            LoopCommand::Retry(Id::new(id.as_str())), LoopCommand::KillAttempt, LoopCommand::Resume] {
            let mut queue = CommandQueue::default();
            queue.push(&command, &id);
            let entries = CommandQueue::parse(&queue.text()).unwrap().entries();
            prop_assert_eq!(entries, vec![QueuedCommand { id: id.clone(), read: Ok(command) }]);
        }
    }
}
