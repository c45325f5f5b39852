//! What a backend may do with ralph's own commands, and what becomes of it.

use std::path::PathBuf;

use ralph_testkit::{TestProject, until};
use serde_json::{Value, json};

use crate::stage::{WAITS, build_beside, stage, steps};

const WORK: &str = "{ write = \"{task}.txt\", text = \"work\\n\" },";

#[test]
fn a_task_claimed_done_by_command_lands_when_the_gates_are_green() {
    let p = stage(&steps(&format!("{WORK} {{ run = \"$BIN task done {{task}}\" }},")));
    p.run(["build"]).ok();
    p.run(["query", "stage"]).ok().stdout_has("COMPLETE");
    assert!(p.exists("t-aaaa.txt") && p.exists("t-bbbb.txt"));
    assert_eq!(p.read(".git/ralph/plan.chain"), "\n", "nobody watches the plan between attempts");
}

#[test]
fn a_claim_by_command_proves_nothing() {
    let bad = "{ write = \"bad.txt\", text = \"x\" }, { run = \"$BIN task done\" },";
    let p = stage(&steps(bad));
    p.run(["build", "--once"]).fails(3);
    assert!(!p.exists("bad.txt"));
    p.run(["show", "last"]).ok().stdout_has("gates failed");
}

#[test]
fn the_more_careful_of_word_and_command_counts() {
    let blocked = "{ run = \"$BIN task block {task} 'needs a key'\" }, { claim = \"done\" },";
    let p = stage(&steps(&format!("{WORK} {blocked}")));
    p.run(["build"]).fails(3);
    p.run(["task", "list"]).ok().stdout_has("needs a key");
}

#[test]
fn a_backend_cannot_speak_about_another_task_nor_decide_anything() {
    let tries = "{ run = \"$BIN task done t-bbbb 2> said.txt\" }, \
                 { run = \"$BIN task skip t-bbbb 2>> said.txt\" }, \
                 { run = \"$BIN build 2>> said.txt\" }, \
                 { run = \"$BIN task list > list.txt\" }, { claim = \"done\" },";
    let p = stage(&steps(tries));
    p.run(["build", "--once"]).ok();
    let said = p.read("said.txt");
    assert!(said.contains("this attempt is about t-aaaa"), "{said}");
    assert_eq!(said.matches("that command is for people").count(), 2, "{said}");
    assert!(said.contains("a backend may use `ralph task add`"), "{said}");
    assert!(p.read("list.txt").contains("t-bbbb"));
    p.run(["task", "show", "t-bbbb"]).ok().stdout_has("pending");
}

/// The place of the project, for a command of a backend.
const PROJECT: &str = "-C $(cat $HOME/project)";

/// A scenario in a project that says where it is.
fn placed(scenario: &str) -> TestProject {
    let p = stage(scenario);
    std::fs::write(p.home().join("project"), p.root().to_str().unwrap()).unwrap();
    p
}

/// Neither by another environment nor by leaving its parent behind.
#[test]
fn whatever_descends_from_the_loop_is_a_backend_whatever_its_environment_says() {
    let shed = "env -u RALPH_ATTEMPT -u RALPH_TASK -u RALPH_RUN -u RALPH_JOB -u RALPH_PLACE -u RALPH_MAILBOX";
    let ralph = format!("$BIN {PROJECT}");
    let tries = format!(
        "{WORK} {{ run = \"{shed} {ralph} task accept t-bbbb 2> said.txt\" }}, \
         {{ run = \"{shed} {ralph} skip t-bbbb 2>> said.txt\" }}, \
         {{ run = \"env RALPH_ATTEMPT=01NOTOURS {ralph} config set max_retries 9 2>> said.txt\" }}, \
         {{ run = \"({shed} setsid sh -c '{ralph} task skip t-bbbb 2> $HOME/late; touch $HOME/over' &); \
                  while [ ! -e $HOME/over ]; do sleep 0.02; done\" }}, \
         {{ run = \"{shed} {ralph} task add Third 2> unasked.txt\" }}, \
         {{ run = \"{shed} {ralph} task list > list.txt\" }}, {{ claim = \"done\" }},"
    );
    let p = placed(&steps(&tries));
    p.run(["build", "--once"]).ok();
    let said = p.read("said.txt") + &std::fs::read_to_string(p.home().join("late")).unwrap();
    assert_eq!(said.matches("that command is for people").count(), 4, "{said}");
    let unasked = p.read("unasked.txt");
    assert!(unasked.contains("RALPH_MAILBOX does not say how to ask its loop"), "{unasked}");
    assert!(p.read("list.txt").contains("t-bbbb"));
    p.run(["task", "show", "t-bbbb"]).ok().stdout_has("pending");
    p.run(["task", "list"]).ok().stdout_lacks("Third");
    assert!(p.read("ralph.toml").contains("max_retries = 0"));
}

/// What a backend sees and says from a directory below the root of its lane.
fn asks_from_below() -> String {
    let below = "mkdir -p deep && cd deep &&";
    format!(
        "{WORK} {{ run = \"{below} $BIN status --json > status.json && $BIN task list --all > list.txt\" }}, \
         {{ run = \"{below} echo '{{\\\"name\\\": \\\"From input\\\"}}' | $BIN task add -\" }}, \
         {{ run = \"{below} $BIN issue add 'is it slow?' --json > issue.json\" }}, \
         {{ run = \"$BIN status --watch 2> watch.txt; $BIN task list --plan /etc/passwd 2> plan.txt\" }}, \
         {{ run = \"$BIN no-such-command 2> usage.txt; echo $? >> usage.txt\" }}, \
         {{ run = \"$BIN task done\" }},"
    )
}

fn asked_from_below(p: &TestProject) {
    p.run(["build", "--once"]).ok();
    let status: Value = serde_json::from_str(&p.read("deep/status.json")).unwrap();
    assert_eq!(
        (&status["plan"], &status["tally"]["pending"]),
        (&json!("ralph/plan.jsonl"), &json!(2))
    );
    assert!(p.read("deep/list.txt").contains("t-bbbb"));
    let issue: Value = serde_json::from_str(&p.read("deep/issue.json")).unwrap();
    assert_eq!(issue["desc"], "is it slow?");
    assert!(p.read("watch.txt").contains("cannot stay and watch"));
    assert!(p.read("plan.txt").contains("is not in the project of this attempt"));
    assert!(p.read("usage.txt").ends_with("\n2\n"));
    p.run(["task", "list"]).ok().stdout_has("From input").stdout_has("t-bbbb");
    p.run(["issue", "list"]).ok().stdout_has("is it slow?");
    p.run(["log"]).ok().stdout_has("t-aaaa  accepted");
}

#[test]
fn commands_in_a_lane_are_carried_out_in_the_project() {
    asked_from_below(&stage(&steps(&asks_from_below())));
}

#[test]
fn commands_in_a_checkout_that_ralph_owns_ask_the_loop_too() {
    let p = stage(&steps(&asks_from_below()));
    p.write("ralph.toml", format!("workspace = \"checkout\"\n{}", p.read("ralph.toml")));
    p.git(["commit", "-q", "-a", "-m", "checkout"]).ok();
    asked_from_below(&p);
}

/// A step that writes down where the mailbox is.
const MAILBOX: &str = "{ run = \"echo $RALPH_MAILBOX >> $HOME/mailboxes\" },";

/// The mailboxes of all attempts so far.
fn mailboxes(p: &TestProject) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(p.home().join("mailboxes")).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

#[test]
fn the_mailbox_of_an_attempt_is_for_that_attempt() {
    let first = "env RALPH_MAILBOX=$(head -n 1 $HOME/mailboxes)";
    let p = stage(&steps(&format!(
        "{WORK} {MAILBOX} {{ run = \"{first} $BIN task done t-aaaa 2> {{task}}.said\" }}, \
         {{ run = \"$BIN task done t-aaaa 2>> {{task}}.said\" }}, {{ claim = \"done\" }},"
    )));
    p.run(["build"]).ok();
    assert_eq!(mailboxes(&p).len(), 2);
    assert_eq!(p.read("t-aaaa.said"), "");
    let said = p.read("t-bbbb.said");
    assert!(said.contains("the loop that started this attempt cannot be reached"), "{said}");
    assert!(said.contains("this attempt is about t-bbbb"), "{said}");
}

#[test]
fn a_command_whose_loop_is_gone_fails_with_a_sentence() {
    let p = stage(&steps(&format!("{WORK} {MAILBOX} {{ claim = \"done\" }},")));
    p.run(["build", "--once"]).ok();
    let [mailbox] = &mailboxes(&p)[..] else { panic!("one attempt") };
    for command in [&["task", "list"][..], &["task", "done", "t-bbbb"], &["build"]] {
        let run = p.command(command.iter().copied());
        let run = run.env("RALPH_ATTEMPT", "01GONE").env("RALPH_MAILBOX", mailbox).run();
        run.fails(1).stderr_has("cannot be reached").stderr_has("the attempt is over");
    }
}

#[test]
fn nothing_is_left_of_a_mailbox_after_a_run_nor_after_the_start_that_follows_a_kill() {
    let p = stage(&steps(&format!("{WORK} {MAILBOX} {WAITS} {{ claim = \"done\" }},")));
    let run = p.spawn(["build", "--once"]);
    until(|| p.home().join("there").exists());
    let mailbox = mailboxes(&p).remove(0);
    let directory = mailbox.parent().unwrap().to_owned();
    assert!(mailbox.exists());
    run.kill();
    assert!(directory.exists(), "nobody was there to remove it");
    std::fs::write(p.home().join("go"), "").unwrap();
    p.run(["build", "--once"]).ok();
    assert_eq!(mailboxes(&p)[1].parent(), Some(&*directory), "the same place");
    assert!(!directory.exists());
}

#[test]
fn a_backend_may_add_a_few_tasks_and_issues_and_they_stay() {
    let add = "{ run = \"$BIN task add Third && $BIN issue add 'is it slow?'\" }, \
               { run = \"$BIN task add Fourth; $BIN task add Fifth 2> said.txt\" }, \
               { claim = \"done\" },";
    let p = stage(&steps(add));
    let run = p.run(["build", "--once"]).ok();
    assert!(!run.stderr.contains("undone"), "{}", run.stderr);
    p.run(["task", "list"]).ok().stdout_has("Third").stdout_has("Fourth").stdout_lacks("Fifth");
    p.run(["issue", "list"]).ok().stdout_has("is it slow?");
    assert!(p.read("said.txt").contains("one attempt may add 3"), "{}", p.read("said.txt"));
}

#[test]
fn what_a_person_does_through_ralph_while_a_backend_works_is_respected() {
    let p = stage(&steps(&format!("{WORK} {WAITS} {{ claim = \"done\" }},"))).real_time();
    let run = build_beside(&p, || {
        p.run(["task", "skip", "t-bbbb", "not now"]).ok();
        p.run(["task", "add", "From a person"]).ok();
    })
    .ok();
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("undone"));
    let list = p.run(["task", "list"]).ok().stdout_has("From a person").stdout;
    assert!(!list.contains("t-bbbb"), "{list}");
}

#[test]
fn what_a_backend_writes_into_the_plan_by_hand_is_left_out() {
    let lie = "{ patch = \"ralph/plan.jsonl\", find = \"Second\\\",\\\"s\\\":\\\"p\\\"\", \
               with = \"Second\\\",\\\"s\\\":\\\"d\\\"\" },";
    let p = stage(&steps(&format!("{WORK} {lie} {{ claim = \"done\" }},")));
    let run = p.run(["build", "--once"]).ok();
    let told = "ralph/plan.jsonl: the backend may not write it; its changes are left out";
    assert!(format!("{}{}", run.stdout, run.stderr).contains(told), "{}", run.stderr);
    p.run(["task", "show", "t-bbbb"]).ok().stdout_has("pending");
}

#[test]
fn in_another_project_a_command_is_a_command_like_any_other() {
    let p = stage("");
    let other = p.command(["task", "skip", "t-bbbb"]).env("RALPH_ATTEMPT", "01NOTOURS").run();
    other.ok().stdout_has("Skipped");
}
