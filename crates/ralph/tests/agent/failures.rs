//! What a failed spec leaves: a stash entry or a salvage with exactly its work, and nothing else.

use crate::dirt;
use crate::lab::{BLOCKED, Lab, PLAN, VERIFY, WHOLE, coder, lab, rule, touch};
use crate::repo::says;

/// Two tasks, of which the first changes three files and the second cannot be done.
pub(crate) fn half_way(spec: &str) -> String {
    let tasks = r#"{ answer = { tasks = [{ key = "one", name = "Half of it", accept = ["x"] }, { key = "two", name = "Hopeless", accept = ["x"], deps = ["one"] }] } }"#;
    let work = r#"{ write = "work/new.txt", text = "new\n" }, { write = "src/main.c", text = "int main(void) { return 1; }\n" }, { delete = "user/kept.txt" }, { claim = "done" }"#;
    rule(&[PLAN, &format!("# {spec}")], "", tasks)
        + &coder("when = \"Half of it\"", work)
        + &coder("when = \"Hopeless\"", BLOCKED)
}

/// A spec that fails after half of its work.
fn failing() -> Lab {
    let lab = lab(&["a.md"]);
    lab.agents(&half_way("a.md"));
    lab
}

#[test]
fn the_stash_brings_back_exactly_the_work_of_the_spec() {
    let lab = failing();
    lab.agent([]).fails(3);
    let diff = ["diff", "--no-renames", "--name-status", "stash@{0}^1", "stash@{0}"];
    assert_eq!(lab.ask_git(diff), "M\tsrc/main.c\nD\tuser/kept.txt\nA\twork/new.txt");
    lab.git(["stash", "apply", "-q"]).ok();
    assert_eq!(lab.read("work/new.txt"), "new\n");
    assert_eq!(lab.read("src/main.c"), "int main(void) { return 1; }\n");
    assert!(!lab.exists("user/kept.txt"));
}

#[test]
fn a_spec_that_failed_is_not_listed_as_landed() {
    let lab = failing();
    lab.agent([]).fails(3);
    let text = lab.run(["report"]).ok().stdout;
    assert!(text.contains("1 spec failed") && text.contains("\n- **a.md**: "), "{text}");
    assert!(!text.contains("## Landed"), "{text}");
    assert!(text.contains("0 tasks landed in 2 attempts, 0 of 2 tasks at the first try"), "{text}");
}

#[test]
fn the_tree_and_the_users_files_are_as_before_a_spec_that_failed() {
    let lab = failing();
    let before = dirt::make(&lab);
    let head = lab.head();
    lab.agent([]).fails(3);
    before.is_untouched(&lab, &head);
    assert!(!lab.exists("work"));
    let diff = ["diff", "--no-renames", "--name-only", "stash@{0}^1", "stash@{0}"];
    assert_eq!(
        lab.ask_git(diff),
        "src/main.c\nuser/kept.txt\nwork/new.txt",
        "nothing of the user's"
    );
}

#[test]
fn reset_keeps_the_work_where_salvage_shows_it() {
    let lab = failing();
    lab.set("agent.on_failure = \"reset\"");
    lab.agent([]).fails(3);
    assert_eq!(lab.stashes(), [""; 0]);
    assert!(!lab.exists("work"));
    let listed = lab.run(["salvage", "list", "--json"]).ok().json().to_string();
    assert!(listed.contains("spec-a-md"), "{listed}");
    let refs = lab.ask_git(["for-each-ref", "--format=%(refname)", "refs/ralph/spec-a-md/salvage"]);
    let name = refs.rsplit('/').next().unwrap();
    let diff = lab.run(["salvage", "diff", name]).ok();
    diff.stdout_has("work/new.txt").stdout_has("src/main.c").stdout_has("user/kept.txt");
}

#[test]
fn a_spec_that_failed_is_planned_anew_when_it_is_queued_again() {
    let lab = failing();
    lab.agent([]).fails(3);
    let of_spec = |r: &serde_json::Value| r["spec"] == "a.md" && r["t"] != "spec";
    assert!(!lab.records().iter().any(of_spec), "{}", lab.plan());
    lab.agents("").run(["inbox", "add", "a.md"]).ok();
    lab.agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md failed", "a.md done"]);
    assert_eq!(lab.completed(), ["ralph: complete a"]);
}

#[test]
fn a_spec_whose_task_was_given_up_is_planned_anew_too() {
    let lab = lab(&["a.md"]);
    let no = r#"{ answer = { satisfied = false, reason = "it is not there", gaps = [] } }"#;
    lab.agents(
        &(rule(&[WHOLE], "", no) + &coder("", r#"{ write = "half.txt", text = "half\n" }"#)),
    );
    lab.agent([]).fails(3);
    assert_eq!(lab.stashes(), [""; 0], "none of its tasks was finished");
    lab.run(["salvage", "diff", "1"]).ok().stdout_has("+half");
    assert!(lab.records().iter().all(|r| r["t"] == "spec"), "{}", lab.plan());
    lab.agents("").run(["inbox", "add", "a.md"]).ok();
    lab.agent([]).ok();
    assert_eq!((lab.asked("plan"), lab.exists("work")), (2, true));
    assert_eq!(lab.statuses(), ["a.md failed", "a.md done"]);
}

#[test]
fn a_plan_that_a_person_had_made_is_there_again_after_a_failure() {
    let lab = failing();
    let task = r#"{"t":"task","id":"t-mine","spec":"a.md","name":"Hopeless","s":"p"}"#;
    lab.write("ralph/plan.jsonl", format!("{{\"t\":\"spec\",\"spec\":\"a.md\"}}\n{task}\n"));
    lab.commit("plan");
    lab.agent([]).fails(3);
    assert!(lab.plan().contains(task), "{}", lab.plan());
    assert_eq!(lab.asked("plan"), 0);
}

#[test]
fn lines_that_the_user_changed_in_a_failed_specs_file_stay() {
    let lab = failing();
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    lab.agents(&(coder("when = \"Hopeless\"\nattempt = 1", &hang) + &half_way("a.md")));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal_twice("INT", &agent);
    agent.wait().fails(130);
    // The spec has changed the same lines.
    let mine = "int main(void) { return 2; }\n";
    lab.write("src/main.c", mine);
    lab.agent([]).fails(3);
    assert_eq!(lab.read("src/main.c"), mine);
    assert!(!lab.exists("work"), "nothing of its work is in home");
    assert_eq!(lab.read("user/kept.txt"), "kept\n");
    assert_eq!(lab.ask_git(["show", "stash@{0}:src/main.c"]), "int main(void) { return 1; }");
}

/// Let an agent die at this point; how it ended, and whether its spec had failed by then.
fn crashed_at(point: u32) -> (Lab, i32, bool) {
    let lab = failing();
    let run = lab.command(["agent"]).env("RALPH_CRASH_POINT", point.to_string()).run();
    let failed = lab.entry("a.md")["status"] == "failed";
    (lab, run.code, failed)
}

#[test]
fn a_crash_between_stash_and_clean_up_makes_no_second_entry() {
    // The first point behind the verdict; before it `kills` looks.
    let (mut before, mut behind) = (0, 1024);
    while behind - before > 1 {
        let middle = (before + behind) / 2;
        match crashed_at(middle).2 {
            true => behind = middle,
            false => before = middle,
        }
    }
    let mut crashes = 0;
    for point in behind.. {
        let (lab, code, _) = crashed_at(point);
        if code != 137 {
            break;
        }
        crashes += 1;
        let run = lab.agent([]);
        let said = crate::repo::said(&run);
        assert_eq!(lab.statuses(), ["a.md failed"], "point {point}: {said}");
        assert_eq!(lab.stashes(), ["ralph: failed a"], "point {point}: {said}");
        assert!(!lab.exists("work"), "point {point}: {said}");
        assert_eq!(lab.status(), "", "point {point}: {said}");
    }
    assert!(crashes >= 4, "only {crashes} crashes: the points are gone");
}

#[test]
fn the_command_for_work_that_was_not_verified_goes_on_with_the_queue() {
    let lab = lab(&["a.md"]);
    let vague = r#"{ answer = "It looks fine." }"#;
    lab.agents(&(rule(&["could not be used"], "", vague) + &rule(&[VERIFY], "", vague)));
    let run = lab.agent([]).fails(3);
    says(&run, "`ralph agent` asks the verifiers again");
    assert_eq!(lab.statuses(), ["a.md pending"]);
    lab.agents("").agent([]).ok();
    assert_eq!(lab.statuses(), ["a.md done"]);
    assert_eq!(lab.completed(), ["ralph: complete a"]);
}
