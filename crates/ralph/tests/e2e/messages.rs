//! What ralph says when it does not do what was asked: short, true, and with what to do.

use ralph_testkit::project;

use crate::stage::{stage, steps};

/// Two tasks that an agent works on and claims to be done, with this gate.
fn gated(command: &str) -> ralph_testkit::TestProject {
    let p = stage(&steps("{ write = \"{task}.txt\", text = \"x\" }, { claim = \"done\" }"));
    let gate = format!("backend = \"sim\"\n[[gates]]\nname = \"check\"\ncommand = {command:?}\n");
    p.write("ralph.toml", gate);
    p.git(["commit", "-qam", "a gate"]).ok();
    p
}

#[test]
fn a_run_whose_gates_prove_nothing_says_so_at_its_end() {
    let p = gated("echo the server is down; exit 1");
    let run = p.run(["build"]).ok();
    let last = run.stdout.lines().last().unwrap();
    assert_eq!(last, "Unproven: 2 landings are unproven; `ralph report` says why");
    p.run(["doctor"]).stdout_has("check: fails already");
}

#[test]
fn a_gate_that_cannot_be_run_lands_nothing_and_the_doctor_knows_why() {
    let p = gated("no-such-program");
    p.run(["build"]).fails(1).stderr_has("there is no program `no-such-program`");
    assert!(!p.exists("t-aaaa.txt") && !p.exists("t-bbbb.txt"));
    p.run(["doctor"]).stdout_has("problem  gate        check: cannot be run");
}

#[test]
fn a_note_is_not_left_where_nobody_will_ever_read_it() {
    let p = project!();
    p.run(["note", "hi"]).fails(1).stderr_has("no project of ralph").stderr_has("`ralph init`");
    assert!(!p.exists(".ralph"));
    let p = p.git_init();
    p.run(["note", "hi"]).ok().stdout_has("Sent note: no loop runs; ");
}

#[test]
fn what_is_not_there_is_said_with_the_command_that_makes_it() {
    let p = project!().git_init();
    for (args, error, hint) in [
        (&["construct"][..], "there is no spec in ralph/specs/", "`ralph init`"),
        (&["build"], "there is no plan yet", "`ralph plan`"),
        (&["build", "nope.json"], "there is no plan file nope.json", "`ralph plan`"),
        (&["build", "--task", "t-none"], "has no task t-none", "`ralph task list`"),
        (&["salvage", "diff"], "nothing is kept here", "does not land"),
        (
            &["config", "set", "nonsense", "1"],
            "error: unknown key `nonsense`",
            "`ralph config show`",
        ),
        (&["plan", "word"], "there is no spec word", "in a sentence"),
    ] {
        let run = p.run(args).fails(1);
        assert!(
            run.stderr.contains(error) && run.stderr.contains(hint),
            "{args:?}:\n{}",
            run.stderr
        );
    }
}

#[test]
fn a_backend_that_says_itself_that_it_is_not_logged_in_is_not_echoed() {
    let p = stage(&steps("{ fail = \"not_logged_in\" }"));
    let run = p.run(["build"]).fails(1);
    assert!(!run.stdout.contains("not logged in: Not logged in"), "{}", run.stdout);
    assert!(run.stdout.contains("Next: log in: "), "{}", run.stdout);
}
