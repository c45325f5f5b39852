//! Inboxes, specs and disks as they should not be.

use ralph_testkit::{SmallDisk, TestProject};

use crate::lab::{
    GOOD, Lab, ONE_TASK, PLAN, coder, hangs_once, lab, planned, rule, touch, wait_for,
};
use crate::repo::says;

#[test]
fn a_corrupt_inbox_ends_the_agent_with_its_line_and_nothing_is_rewritten() {
    let lab = lab(&["a.md"]);
    let damaged = lab.read("ralph/inbox.jsonl") + "{\"t\":\"inbox\", oops}\n";
    lab.write("ralph/inbox.jsonl", &damaged);
    let head = lab.head();
    lab.agent([]).fails(1).stderr_has("ralph/inbox.jsonl:2");
    lab.agent(["--dry-run"]).fails(1).stderr_has("ralph/inbox.jsonl:2");
    assert_eq!(lab.read("ralph/inbox.jsonl"), damaged);
    assert_eq!(lab.head(), head);
    assert!(!lab.exists("ralph/.agent-session"));
}

#[test]
fn an_inbox_that_a_person_damages_between_two_specs_ends_the_agent_too() {
    let lab = lab(&["a.md"]);
    // A gate runs between backends: what happens then, nobody but a person does.
    let gate = "touch $HOME/gated; until [ -e $HOME/damaged ]; do sleep 0.01; done";
    lab.config(&format!("backend = \"sim\"\n[[gates]]\nname = \"test\"\ncommand = {gate:?}\n"));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("gated");
    let text = lab.read("ralph/inbox.jsonl");
    lab.write("ralph/inbox.jsonl", format!("{text}oops\n"));
    lab.allow("damaged");
    agent.wait().fails(1).stderr_has("ralph/inbox.jsonl:2");
    assert!(lab.read("ralph/inbox.jsonl").ends_with("}\noops\n"), "nothing is rewritten");
    lab.write("ralph/inbox.jsonl", text);
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done"]);
}

#[test]
fn a_spec_that_was_deleted_after_queuing_fails_and_the_next_one_follows() {
    let lab = lab(&["a.md", "b.md"]);
    std::fs::remove_file(lab.path("ralph/specs/a.md")).unwrap();
    lab.commit("gone");
    lab.agent([]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done"]);
    let error = lab.entry("a.md")["error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("spec not found: "), "{error}");
}

#[test]
fn of_a_spec_that_is_edited_while_it_is_active_the_fetched_text_counts() {
    let lab = lab(&["a.md"]);
    lab.agents(&hangs_once("a.md"));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    lab.write("ralph/specs/a.md", "# something else\n");
    let no = r#"{ answer = { satisfied = false, reason = "it wants something else" } }"#;
    lab.agents(&rule(&[crate::lab::WHOLE, "# something else"], "", no));
    let run = lab.agent([]).ok();
    says(&run, "ralph/specs/a.md was changed since");
    assert_eq!(lab.read("ralph/specs/a.md"), "# something else\n", "the edit stays");
    assert_eq!(lab.status(), " M ralph/specs/a.md", "and is not committed");
}

#[test]
fn the_same_spec_twice_is_refused_with_the_id() {
    let lab = lab(&["a.md"]);
    let id = lab.entry("a.md")["id"].as_str().unwrap().to_owned();
    lab.run(["inbox", "add", "a.md"]).fails(1).stderr_has(&format!("{id}, pending"));
    lab.agents(&coder("", &format!("{}, {}, {GOOD}", touch("began"), wait_for("go"))));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.run(["inbox", "add", "a.md"]).fails(1).stderr_has(&format!("{id}, active"));
    lab.allow("go");
    agent.wait().ok();
    lab.run(["inbox", "add", "a.md"]).ok();
}

#[test]
fn what_a_backend_writes_into_the_inbox_is_left_out_and_a_persons_command_is_kept() {
    let lab = lab(&["a.md", "b.md"]);
    lab.write_spec("c.md");
    lab.write_spec("d.md");
    lab.commit("more specs");
    let vandal =
        r#"{ run = "cat /dev/null > ralph/inbox.jsonl; echo vandal >> ralph/inbox.jsonl" }"#;
    lab.agents(
        &(planned("a.md", "Vandal")
            + &coder(
                "when = \"Vandal\"",
                &format!(
                    "{}, {}, {vandal}, {}, {}, {GOOD}",
                    touch("one"),
                    wait_for("go"),
                    touch("two"),
                    wait_for("on")
                ),
            )),
    );
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("one");
    lab.run(["inbox", "add", "c.md"]).ok();
    lab.allow("go");
    lab.until_home_has("two");
    lab.run(["inbox", "add", "d.md"]).ok();
    lab.allow("on");
    let run = agent.wait().ok();
    says(&run, "ralph/inbox.jsonl: the backend may not write it");
    assert_eq!(lab.statuses(), ["a.md done", "b.md done", "c.md done", "d.md done"]);
    assert!(!lab.read("ralph/inbox.jsonl").contains("vandal"));
}

#[test]
fn what_a_backend_wrote_into_the_inbox_before_a_kill_counts_for_nothing() {
    let lab = lab(&["a.md", "b.md"]);
    let vandal = format!(r#"{{ run = "echo vandal > ralph/inbox.jsonl" }}, {}"#, touch("began"));
    lab.agents(&hangs_once("a.md").replace(&touch("began"), &vandal));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    assert_eq!(agent.kill().code, 137);
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
    assert!(!lab.read("ralph/inbox.jsonl").contains("vandal"));
    assert!(!lab.ask_git(["log", "-p", "--format="]).contains("vandal"));
}

#[test]
fn a_full_disk_at_the_commit_is_told_and_the_next_start_goes_on() {
    let Some(disk) = SmallDisk::mount("a_full_disk_at_the_commit", 8 * 1024) else { return };
    let project = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path());
    let lab = Lab::inside(project, &["a.md", "b.md"]);
    // Hooks run at the commit of a spec, and at no other time.
    let place = disk.path().display();
    let hook = format!(
        "#!/bin/sh\n[ -e \"$HOME/filled\" ] && exit 0\ntouch \"$HOME/filled\"\ncat /dev/zero > {place}/filler 2>/dev/null\nexit 0\n"
    );
    lab.write(".git/hooks/pre-commit", hook);
    lab.mode(".git/hooks/pre-commit", 0o755);
    let run = lab.agent([]);
    assert!([1, 3].contains(&run.code), "{}", crate::repo::said(&run));
    says(&run, "the disk is full");
    disk.free();
    let run = lab.agent([]);
    assert_eq!(run.code, 0, "{}", crate::repo::said(&run));
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
    assert_eq!(lab.completed(), ["ralph: complete a", "ralph: complete b"]);
}

#[test]
fn a_clock_that_goes_back_between_two_starts_changes_nothing() {
    let lab = lab(&["a.md", "b.md"]);
    lab.agents(&hangs_once("a.md"));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    assert_eq!(agent.kill().code, 137);
    let lab = lab.env("RALPH_NOW", "2024-12-24T00:00:00Z");
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
    let body = lab.ask_git(["log", "-1", "--skip=1", "--format=%b"]);
    assert!(body.contains("Duration: 0s"), "{body}");
}

#[test]
fn a_dry_run_plans_every_pending_spec_and_writes_nothing() {
    let lab = lab(&["a.md", "b.md"]);
    lab.commit("inbox");
    let tracked = |lab: &Lab| (lab.head(), lab.status(), lab.read("ralph/inbox.jsonl"));
    let before = tracked(&lab);
    let run = lab.agent(["--dry-run"]).ok();
    let run = run.stdout_has("a.md: would get 1 task").stdout_has("b.md: would get 1 task");
    run.stdout_has("Write one");
    assert_eq!(tracked(&lab), before);
    assert!(!lab.exists("ralph/plan.jsonl") && !lab.exists("ralph/.agent-session"));
    let refs = lab.ask_git(["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    assert_eq!(refs, "");
}

#[test]
fn a_dry_run_goes_on_behind_a_spec_that_is_gone() {
    let lab = lab(&["a.md", "b.md"]);
    std::fs::remove_file(lab.path("ralph/specs/a.md")).unwrap();
    let run = lab.agent(["--dry-run"]).fails(3);
    says(&run, "a.md would fail");
    run.stdout_has("b.md: would get 1 task");
}

#[test]
fn a_plan_that_cannot_be_made_fails_the_spec_and_the_next_one_follows() {
    let lab = lab(&["a.md", "b.md"]);
    let nonsense = r#"{ answer = "I would rather not." }"#;
    lab.agents(&(rule(&[PLAN, "# a.md"], "", nonsense) + &rule(&[PLAN], "", ONE_TASK)));
    lab.agent([]).fails(3);
    assert_eq!(lab.statuses(), ["a.md failed", "b.md done"]);
    assert!(lab.entry("a.md")["error"].is_string());
}
