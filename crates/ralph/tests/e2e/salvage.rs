//! `ralph salvage`: the work of attempts that failed.

use ralph_testkit::TestProject;

use crate::stage::{stage, steps};

/// One attempt failed: it had changed one file and made another.
fn failed() -> TestProject {
    let bad = "{ append = \"one.txt\", text = \"two\\n\" }, \
               { write = \"bad.txt\", text = \"x\\n\" }, { claim = \"done\" },";
    let p = stage(&steps(bad));
    p.run(["build", "--once"]).fails(3);
    assert_eq!((p.read("one.txt").as_str(), p.exists("bad.txt")), ("one\n", false));
    p
}

#[test]
fn what_is_kept_is_listed_with_where_it_comes_from() {
    let p = failed();
    let list = p.run(["salvage", "list"]).ok().stdout;
    assert!(list.contains("1  t-aaaa  just now  2      gates failed"), "{list}");
    let list = p.run(["salvage", "list", "--json"]).ok().json();
    assert_eq!((&list[0]["iteration"], &list[0]["task"]), (&1.into(), &"t-aaaa".into()));
    assert_eq!(list[0]["files"], serde_json::json!(["bad.txt", "one.txt"]));
    stage("").run(["salvage", "list"]).ok().stdout_has("Nothing is kept");
}

#[test]
fn a_salvage_is_shown_and_brought_back_by_any_of_its_names() {
    let p = failed();
    let list = p.run(["salvage", "list", "--json"]).ok().json();
    let id = list[0]["attempt"].as_str().unwrap();
    for name in ["last", "1", id, &id[..12]] {
        p.run(["salvage", "diff", name]).ok().stdout_has("+two").stdout_has("b/bad.txt");
    }
    p.run(["salvage", "restore", "1"])
        .ok()
        .stdout("Restored: 2 files of iteration 1 (t-aaaa); nothing is staged or committed\n  bad.txt\n  one.txt\n");
    assert_eq!((p.read("one.txt").as_str(), p.read("bad.txt").as_str()), ("one\ntwo\n", "x\n"));
    assert_eq!(p.git(["diff", "--cached", "--name-only"]).ok().stdout, "");
    p.run(["salvage", "diff", "9"]).fails(1).stderr_has("nothing is kept under 9");
}

#[test]
fn a_restore_that_would_overwrite_something_changes_nothing() {
    let p = failed();
    p.write("bad.txt", "mine\n");
    p.run(["salvage", "restore"])
        .fails(1)
        .stderr_has("does not fit")
        .stderr_has("bad.txt: already exists")
        .stderr_has("git apply --3way");
    assert_eq!((p.read("one.txt").as_str(), p.read("bad.txt").as_str()), ("one\n", "mine\n"));
}

#[test]
fn old_salvage_goes_by_age_or_by_number_and_not_before() {
    let p = failed();
    p.run(["salvage", "prune"]).ok().stdout("Nothing is old enough to go.\n");
    p.run(["salvage", "prune", "--keep", "1"]).ok().stdout_has("Nothing");
    p.run(["salvage", "prune", "--keep", "0", "--dry-run"]).ok().stdout_has("Would go: ");
    p.run(["salvage", "diff"]).ok();
    let later = p.command(["salvage", "prune"]).env("RALPH_NOW", "2025-03-20T00:00:00Z").run();
    later.ok().stdout_has("Gone: ").stdout_has("iteration 1 (t-aaaa)");
    p.run(["salvage", "diff"]).fails(1);
}

#[test]
fn a_loop_that_ends_gives_up_what_is_old() {
    let p = failed();
    p.run(["salvage", "diff", "1"]).ok();
    p.command(["build", "--once"]).env("RALPH_NOW", "2025-03-20T00:00:00Z").run().fails(3);
    p.run(["salvage", "diff", "1"]).fails(1);
}
