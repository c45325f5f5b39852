use ralph_core::cycle::{JOURNAL_FORM, RunCommand, RunStart};

use super::*;

fn start(run: &str) -> JournalRecord {
    JournalRecord::RunStarted(RunStart {
        run: run.into(),
        command: RunCommand::Build,
        form: JOURNAL_FORM,
        ..RunStart::default()
    })
}

fn stamp() -> String {
    "2025-01-20T10:30:00Z".into()
}

#[test]
fn what_was_written_is_read_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, history) = Journal::open(dir.path()).unwrap();
    assert_eq!(history.run, None);
    journal.append(stamp(), start("one"), Durability::Synced).unwrap();
    journal.append(stamp(), start("two"), Durability::Eventual).unwrap();
    let history = read_history(dir.path()).unwrap();
    assert_eq!(history.run.unwrap().run, "two");
}

#[test]
fn a_torn_last_line_is_cut_off_and_the_next_record_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(stamp(), start("one"), Durability::Synced).unwrap();
    drop(journal);
    let path = dir.path().join(NAME);
    let mut bytes = std::fs::read(&path).unwrap();
    let whole = bytes.clone();
    bytes.extend(b"{\"at\":\"2025");
    super::super::replace(&path, &bytes).unwrap();
    let (mut journal, history) = Journal::open(dir.path()).unwrap();
    assert_eq!(history.run.unwrap().run, "one");
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    journal.append(stamp(), start("two"), Durability::Synced).unwrap();
    assert_eq!(read_history(dir.path()).unwrap().run.unwrap().run, "two");
}

#[test]
fn the_room_behind_the_last_record_is_no_record_and_goes_when_the_journal_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(stamp(), start("one"), Durability::Synced).unwrap();
    let open = std::fs::read(&path).unwrap();
    for n in 0..2_000 {
        journal.append(stamp(), start(&n.to_string()), Durability::Eventual).unwrap();
    }
    drop(journal);
    let closed = std::fs::read(&path).unwrap();
    assert_eq!((open.len() > ROOM, closed.contains(&0)), (true, false));
    assert_eq!(closed.split(|b| *b == b'\n').count(), 2_002);
    assert_eq!(read_history(dir.path()).unwrap().run.unwrap().run, "1999");
}

#[test]
fn a_record_of_which_only_the_end_reached_the_disk_was_never_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(stamp(), start("one"), Durability::Synced).unwrap();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    let torn = [&whole[..], b"{\"at\":", &[0; 100], b"\"run\":\"two\"}\n", &[0; 50]].concat();
    super::super::replace(&path, &torn).unwrap();
    let (_journal, history) = Journal::open(dir.path()).unwrap();
    assert_eq!(history.run.unwrap().run, "one");
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn a_damaged_line_in_the_middle_stops_with_its_number_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    super::super::replace(&path, b"\n{\"at\":1}\n{}\n").unwrap();
    let error = Journal::open(dir.path()).unwrap_err();
    assert!(error.to_string().contains("journal.jsonl:2:"), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(std::fs::read(&path).unwrap(), b"\n{\"at\":1}\n{}\n");
}

#[test]
fn a_journal_of_another_version_is_refused_as_such_and_not_as_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    for line in [
        r#"{"at":"2030-01-01T00:00:00Z","record":"teleported","to":"mars"}"#,
        r#"{"at":"2030-01-01T00:00:00Z","record":"run_started","run":"r","command":"build","plan":"p","mode":"m","form":99}"#,
        r#"{"at":"2030-01-01T00:00:00Z","record":"run_started","run":"r","command":"build","plan":"p","mode":"m","form":1}"#,
    ] {
        std::fs::create_dir_all(dir.path()).unwrap();
        crate::store::replace(&path, format!("{line}\n").as_bytes()).unwrap();
        let error = read_history(dir.path()).unwrap_err();
        assert!(matches!(error, JournalError::Foreign { line: 1, .. }), "{error}");
        assert!(error.to_string().contains("another version of ralph"), "{error}");
        assert!(error.hint().unwrap().contains("nothing was changed"));
    }
    crate::store::replace(&path, b"nonsense\n").unwrap();
    assert!(matches!(read_history(dir.path()).unwrap_err(), JournalError::Damaged { .. }));
}

#[test]
fn what_stands_behind_the_first_zero_is_kept_aside_and_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    let (mut journal, _) = Journal::open(dir.path()).unwrap();
    journal.append(stamp(), start("one"), Durability::Synced).unwrap();
    drop(journal);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([0, 0, 0]);
    bytes.extend(b"{\"at\":\"later\"}\n\0\0");
    super::super::replace(&path, &bytes).unwrap();
    let (_journal, history) = Journal::open(dir.path()).unwrap();
    assert_eq!(history.run.unwrap().run, "one");
    let kept = std::fs::read(path.with_extension("jsonl.torn")).unwrap();
    assert_eq!(kept, b"{\"at\":\"later\"}\n");
}
