use ralph_core::handoff::synthetic;
use ralph_core::plan::Id;

use super::*;

fn handoff(task: &str) -> Handoff {
    synthetic(&Id::new(task), Vec::new(), "")
}

fn put(root: &Path, name: &str, text: &str) {
    store::create(&root.join(DIRECTORY).join(name), text.as_bytes()).unwrap();
}

#[test]
fn numbers_go_on_for_ever_also_when_old_files_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert_eq!(next_number(root, 0).unwrap(), 1);
    let first = save(root, handoff("t-1"), 0).unwrap();
    assert_eq!((first.number, first.file.as_str()), (1, ".ralph/handoffs/handoff-001.json"));
    put(root, "handoff-1000.json", "{}");
    assert_eq!(save(root, handoff("t-2"), 0).unwrap().number, 1001);
    fs::remove_dir_all(root.join(DIRECTORY)).unwrap();
    assert_eq!(save(root, handoff("t-3"), 1002).unwrap().number, 1002);
    assert_eq!(save(root, handoff("t-3"), 7).unwrap().number, 1003);
}

#[test]
fn what_was_saved_is_read_back_and_the_latest_counts() {
    let dir = tempfile::tempdir().unwrap();
    assert!(latest(dir.path(), 0, |_| true).value.is_none());
    for task in ["t-1", "t-2", "t-3"] {
        save(dir.path(), handoff(task), 0).unwrap();
    }
    let loaded = latest(dir.path(), 0, |_| true);
    assert!(loaded.warnings.is_empty());
    let past = loaded.value.unwrap();
    assert_eq!((past.number, &past.handoff), (3, &handoff("t-3")));
}

#[test]
fn a_damaged_handoff_is_passed_over_with_a_word_about_it() {
    let dir = tempfile::tempdir().unwrap();
    save(dir.path(), handoff("t-1"), 0).unwrap();
    put(dir.path(), "handoff-002.json", "{\"summary\": 1");
    put(dir.path(), "handoff-003.json/x", "");
    put(dir.path(), "handoff-4.json", "not ours");
    put(dir.path(), "notes.md", "not ours");
    let loaded = latest(dir.path(), 0, |_| true);
    assert_eq!(loaded.value.unwrap().number, 1);
    assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].contains("handoff-003.json is passed over"));
    assert_eq!(next_number(dir.path(), 0).unwrap(), 4);
}

#[test]
fn an_absurd_number_is_an_error_and_not_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), &format!("handoff-{}.json", u64::MAX), "{}");
    let error = save(dir.path(), handoff("t-1"), 0).unwrap_err();
    assert!(error.to_string().contains("no number is left"), "{error}");
    assert!(error.hint().is_some());
}
