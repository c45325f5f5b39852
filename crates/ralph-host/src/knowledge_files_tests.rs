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
    fs::write(&markdown, b"# Knowledge Index\r\n\xff must").unwrap();
    let before = Snapshot::take(dir.path()).unwrap();
    fs::write(&markdown, HEADER).unwrap();
    fs::write(&json, "[]").unwrap();
    before.restore(dir.path()).unwrap();
    assert_eq!(fs::read(&markdown).unwrap(), b"# Knowledge Index\r\n\xff must");
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
    let after = Snapshot::take(dir.path()).unwrap();
    assert_eq!(before.verify(&after).unwrap_err().len(), 2);
    before.restore(dir.path()).unwrap();
    assert_eq!(Snapshot::take(dir.path()).unwrap(), before);
}
