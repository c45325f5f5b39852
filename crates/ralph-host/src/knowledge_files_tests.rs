#![expect(clippy::disallowed_methods, reason = "a test writes files as an agent would")]

use std::fs;

use super::*;

const HEADER: &str = "# Knowledge Index\nLast updated: iteration 1 (x)\n";

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".ralph")).unwrap();
    dir
}

#[test]
fn what_an_agent_did_to_the_index_is_undone_to_the_byte() {
    let dir = project();
    let (markdown, json) = (dir.path().join(MARKDOWN_FILE), dir.path().join(JSON_FILE));
    fs::write(&markdown, b"## Constraints\r\n\xff must").unwrap();
    let before = Snapshot::take(dir.path()).unwrap();
    fs::write(&markdown, HEADER).unwrap();
    fs::write(&json, "[]").unwrap();
    assert!(!before.settle(dir.path()).unwrap().is_empty(), "a hard line is gone");
    assert_eq!(fs::read(&markdown).unwrap(), b"## Constraints\r\n\xff must");
    assert!(!json.exists(), "there was no such file before");
    assert_eq!(Snapshot::take(dir.path()).unwrap(), before);
}

#[test]
fn an_index_that_was_removed_comes_back() {
    let dir = project();
    fs::write(dir.path().join(MARKDOWN_FILE), HEADER).unwrap();
    fs::write(dir.path().join(JSON_FILE), "[]").unwrap();
    let before = Snapshot::take(dir.path()).unwrap();
    fs::remove_dir_all(dir.path().join(".ralph")).unwrap();
    assert_eq!(before.settle(dir.path()).unwrap().len(), 2);
    assert_eq!(Snapshot::take(dir.path()).unwrap(), before);
}

#[test]
fn an_update_that_may_stay_stays() {
    let dir = project();
    let before = Snapshot::take(dir.path()).unwrap();
    fs::write(dir.path().join(MARKDOWN_FILE), HEADER).unwrap();
    fs::write(dir.path().join(JSON_FILE), "[]").unwrap();
    assert_eq!(before.settle(dir.path()).unwrap(), []);
    assert_eq!(fs::read_to_string(dir.path().join(MARKDOWN_FILE)).unwrap(), HEADER);
}

#[test]
fn what_is_no_text_or_far_too_large_is_undone() {
    let dir = project();
    let before = Snapshot::take(dir.path()).unwrap();
    let json = dir.path().join(JSON_FILE);
    fs::write(dir.path().join(MARKDOWN_FILE), HEADER).unwrap();
    fs::write(&json, b"[\"\xff\"]").unwrap();
    let found = before.settle(dir.path()).unwrap();
    assert!(found[0].message.contains("not UTF-8"), "{found:?}");
    fs::File::create(&json).unwrap().set_len(LARGEST + 1).unwrap();
    let found = before.settle(dir.path()).unwrap();
    assert!(found[0].message.contains("more than"), "{found:?}");
    assert!(!json.exists());
}
