//! The one commit of a spec, beside hooks, people and what they have in the tree.

use crate::dirt;
use crate::lab::{GOOD, Lab, PLAN, TWO_TASKS, coder, lab, planned, rule, touch, wait_for};
use crate::repo::says;

/// A hook that refuses commits of specs so many times.
fn refusing(times: u32) -> String {
    format!(
        "#!/bin/sh\nn=$(cat \"$HOME/hook\" 2>/dev/null || echo 0)\ngrep -q 'ralph: complete a' \"$1\" || exit 0\n\
         [ \"$n\" -ge {times} ] && exit 0\necho $((n+1)) > \"$HOME/hook\"\necho 'not like this' >&2\nexit 1\n"
    )
}

#[test]
fn a_commit_that_a_hook_refuses_is_tried_once_more() {
    let lab = lab(&["a.md"]);
    lab.write(".git/hooks/commit-msg", refusing(1));
    lab.mode(".git/hooks/commit-msg", 0o755);
    lab.agent([]).ok();
    assert_eq!(lab.completed(), ["ralph: complete a"]);
    assert_eq!(lab.status(), "");
}

#[test]
fn a_commit_that_is_refused_twice_fails_the_spec_and_its_work_is_stashed() {
    let lab = lab(&["a.md", "b.md"]);
    lab.write(".git/hooks/commit-msg", refusing(2));
    lab.mode(".git/hooks/commit-msg", 0o755);
    let run = lab.agent([]).fails(3);
    says(&run, "not like this");
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done"]);
    let entry = lab.entry("a.md");
    assert!(entry["error"].as_str().unwrap().contains("the commit failed"), "{entry}");
    assert_eq!(lab.stashes(), ["ralph: failed a"]);
    assert_eq!(lab.completed(), ["ralph: complete b"]);
    assert_eq!(lab.status(), "");
    let committed = lab.ask_git(["show", "HEAD:ralph/inbox.jsonl"]);
    assert!(committed.contains(r#""status":"failed""#), "done was undone: {committed}");
}

#[test]
fn nothing_is_committed_on_the_branch_while_a_spec_is_constructed() {
    let lab = lab(&["a.md"]);
    let head = lab.head();
    let hold = format!("{}, {}", touch("began"), wait_for("go"));
    lab.agents(
        &(rule(&[PLAN], "", TWO_TASKS)
            + &coder("when = \"Write two\"", &format!("{hold}, {GOOD}"))),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    let (meanwhile, status) = (lab.head(), lab.status());
    lab.allow("go");
    agent.wait().ok();
    assert_eq!(meanwhile, head, "only what was there before");
    assert_eq!(status, "?? ralph/inbox.jsonl", "and nothing of the spec");
    assert_eq!(lab.ask_git(["rev-parse", "HEAD^"]), head);
}

#[test]
fn the_users_files_stay_through_specs_that_succeed_fail_and_are_killed() {
    let lab = lab(&["a.md", "b.md", "c.md"]);
    lab.commit("inbox");
    let before = dirt::make(&lab);
    let head = lab.head();
    let late = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(
        &(crate::failures::half_way("b.md").replace("user/kept.txt", "README.md")
            + &planned("c.md", "Late")
            + &coder("when = \"Late\"\nattempt = 1", &late)),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    assert_eq!(agent.kill().code, 137);
    before.is_untouched(&lab, &head);
    lab.agent([]).fails(3);
    before.is_untouched(&lab, &head);
    assert_eq!(lab.statuses(), ["a.md done", "b.md failed", "c.md done"]);
    assert_eq!(lab.stashes(), ["ralph: failed b"]);
}

/// An agent whose first spec has its work on the ref and is then interrupted.
fn interrupted(rules: &str) -> crate::lab::Lab {
    let lab = lab(&["a.md", "b.md"]);
    lab.commit("inbox");
    let whole = [crate::lab::WHOLE, "# a.md"];
    let hang = format!("{}, {{ hang = true }}", touch("asked"));
    lab.agents(&(rule(&whole, "attempt = 1", &hang) + rules));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("asked");
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    lab
}

#[test]
fn a_spec_lands_on_a_head_that_somebody_moved_after_its_gates_ran_again() {
    let lab = interrupted("");
    lab.write("src/other.c", "int other;\n");
    lab.git(["add", "src/other.c"]).ok();
    lab.git(["commit", "-q", "-m", "mine"]).ok();
    let mine = lab.head();
    let run = lab.agent([]).ok();
    says(&run, "GATES: others have committed meanwhile (1 file)");
    assert_eq!(lab.completed(), ["ralph: complete a", "ralph: complete b"]);
    assert_eq!(lab.ask_git(["rev-parse", "HEAD~2"]), mine);
    assert_eq!(lab.status(), "");
}

#[test]
fn a_lock_that_a_killed_git_left_on_the_refs_of_a_spec_stops_nobody() {
    let lab = interrupted("");
    let refs = lab.git_dir().join("refs/ralph/spec-a-md");
    std::fs::create_dir_all(&refs).unwrap();
    std::fs::write(refs.join("before.lock"), "").unwrap();
    lab.agent([]).ok();
    assert_eq!(lab.completed(), ["ralph: complete a", "ralph: complete b"]);
}

#[test]
fn a_spec_that_does_not_fit_a_moved_head_fails_with_its_work_stashed() {
    let write =
        r#"{ write = "src/main.c", text = "int main(void) { return 1; }\n" }, { claim = "done" }"#;
    let lab = interrupted(&coder("", write));
    lab.write("src/main.c", "int main(void) { return 2; }\n");
    lab.git(["commit", "-q", "-m", "mine", "src/main.c"]).ok();
    lab.agents("");
    lab.agent([]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done"]);
    assert_eq!(lab.stashes(), ["ralph: failed a"]);
    assert_eq!(lab.ask_git(["show", "HEAD:src/main.c"]), "int main(void) { return 2; }");
    assert_eq!(lab.status(), "");
}

/// A gate that is green on the work of the agent and on the file of the user, and red on both.
const BOTH: &str = "[[gates]]\nname = \"both\"\nkind = \"test\"\n\
    command = \"! { test -f work/theirs.txt && ls work | grep -v theirs; }\"\n";

#[test]
fn a_spec_whose_gates_fail_on_the_moved_head_fails() {
    let lab = interrupted("");
    lab.write("ralph.toml", lab.read("ralph.toml") + BOTH);
    lab.write("work/theirs.txt", "mine\n");
    lab.commit("mine");
    lab.agents(&crate::lab::hopeless("b.md"));
    lab.agent([]).fails(3);
    let error = lab.entry("a.md")["error"].as_str().unwrap().to_owned();
    assert!(
        error.contains("others have committed meanwhile, and on that these gates fail: both"),
        "{error}"
    );
    assert_eq!(lab.stashes()[0], "ralph: failed a");
}

#[test]
fn a_gate_that_the_moved_head_fails_alone_is_no_fault_of_the_spec() {
    let lab = interrupted("");
    lab.write("work/theirs.txt", "BROKEN\n");
    lab.commit("mine");
    lab.agents(&crate::lab::hopeless("b.md"));
    lab.agent([]).fails(3);
    assert_eq!(lab.statuses(), ["a.md done", "b.md failed"]);
    assert_eq!(lab.completed()[0], "ralph: complete a");
}

#[test]
fn without_auto_commit_the_work_stays_on_the_tip() {
    let lab = lab(&["a.md"]);
    lab.set("auto_commit = false");
    let head = lab.head();
    let run = lab.agent([]).fails(3);
    says(&run, "1 commit waits: auto_commit is off");
    assert_eq!(lab.head(), head);
    assert_eq!(lab.statuses(), ["a.md done"]);
    assert!(!lab.exists("work"));
    let tips = lab.ask_git(["for-each-ref", "--format=%(subject)", "refs/ralph/**/tip"]);
    assert_eq!(tips, "ralph: complete a");
    let refs = lab.ask_git(["for-each-ref", "--format=%(refname)", "refs/ralph/spec-a-md/"]);
    assert_eq!(refs, "", "the spec is on the tip, and nowhere else");
}

fn two_specs_of_which_one_is_queued() -> Lab {
    let lab = lab(&["a.md"]);
    lab.write_spec("b.md");
    lab.commit("b");
    lab
}

/// Let an agent die at this point. Whether its spec was on the tip by then.
fn landed_at(point: u32) -> (Lab, bool) {
    let lab = two_specs_of_which_one_is_queued();
    lab.command(["agent"]).env("RALPH_CRASH_POINT", point.to_string()).run();
    let tips = lab.ask_git(["for-each-ref", "--format=%(subject)", "refs/ralph/**/tip"]);
    (lab, tips == "ralph: complete a")
}

#[test]
fn a_spec_added_between_a_crash_and_the_restart_makes_no_second_commit() {
    // The first point at which the tip has the commit: the journal does not know it yet.
    let (mut before, mut behind) = (0, 256);
    while behind - before > 1 {
        let middle = (before + behind) / 2;
        let (lab, landed) = landed_at(middle);
        match landed || !lab.completed().is_empty() {
            true => behind = middle,
            false => before = middle,
        }
    }
    let (lab, landed) = landed_at(behind);
    assert!(landed && lab.completed().is_empty(), "point {behind}");
    lab.run(["inbox", "add", "b.md"]).ok();
    let run = lab.agent([]).ok();
    says(&run, "was made before the interruption");
    assert_eq!(lab.completed(), ["ralph: complete a", "ralph: complete b"]);
    assert_eq!(lab.status(), "", "the index knows what was committed");
}

#[test]
fn a_backend_that_waits_long_is_no_reason_to_lose_what_was_queued_meanwhile() {
    let lab = lab(&["a.md"]);
    lab.write_spec("b.md");
    lab.commit("b");
    lab.agents(&coder("", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.run(["inbox", "add", "b.md"]).ok();
    lab.run(["inbox"]).ok().stdout_has("active").stdout_has("pending");
    lab.allow("go");
    agent.wait().ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
}

#[test]
fn land_brings_a_spec_that_waited_with_the_inbox_that_nobody_edits() {
    let lab = lab(&["a.md"]);
    let append = "{ append = \"README.md\", text = \"{task}\\n\" }, { claim = \"done\" }";
    lab.agents(&coder("", append));
    lab.write("README.md", "mine\n");
    lab.agent([]).fails(3);
    lab.run(["land"]).fails(3).stdout_has("touches README.md");
    lab.git(["restore", "README.md"]).ok();
    lab.run(["land"]).ok().stdout_has("arrived");
    assert_eq!((lab.statuses(), lab.status()), (vec!["a.md done".to_owned()], String::new()));
    let inbox = lab.read("ralph/inbox.jsonl");
    assert_eq!(lab.ask_git(["show", "HEAD:ralph/inbox.jsonl"]), inbox.trim_end());
}
