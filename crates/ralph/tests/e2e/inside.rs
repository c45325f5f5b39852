//! What a backend may do with ralph's own commands, and what becomes of it.

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

/// Neither by another environment nor by leaving its parent behind.
#[test]
fn whatever_descends_from_the_loop_is_a_backend_whatever_its_environment_says() {
    let shed = "env -u RALPH_ATTEMPT -u RALPH_TASK -u RALPH_RUN -u RALPH_JOB -u RALPH_PLACE";
    let tries = format!(
        "{WORK} {{ run = \"{shed} $BIN task accept t-bbbb 2> said.txt\" }}, \
         {{ run = \"{shed} $BIN skip t-bbbb 2>> said.txt\" }}, \
         {{ run = \"env RALPH_ATTEMPT=01NOTOURS $BIN config set max_retries 9 2>> said.txt\" }}, \
         {{ run = \"({shed} setsid sh -c '$BIN task skip t-bbbb 2> $HOME/late; touch $HOME/over' &); \
                  while [ ! -e $HOME/over ]; do sleep 0.02; done\" }}, \
         {{ run = \"{shed} $BIN task list > list.txt\" }}, {{ claim = \"done\" }},"
    );
    let p = stage(&steps(&tries));
    p.run(["build", "--once"]).ok();
    let said = p.read("said.txt") + &std::fs::read_to_string(p.home().join("late")).unwrap();
    assert_eq!(said.matches("that command is for people").count(), 4, "{said}");
    assert!(p.read("list.txt").contains("t-bbbb"));
    p.run(["task", "show", "t-bbbb"]).ok().stdout_has("pending");
    assert!(p.read("ralph.toml").contains("max_retries = 0"));
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
