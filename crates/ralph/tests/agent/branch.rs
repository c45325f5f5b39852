//! `agent.branch = "spec"`: each spec on a branch of its own, and whoever reviews it is asked.

use crate::lab::{Lab, hangs_once, hopeless, lab};
use crate::repo::says;

const OWN: &str = "agent.branch = \"spec\"";

fn branching(settings: &str, specs: &[&str]) -> Lab {
    let lab = lab(specs);
    lab.set(&format!("{OWN}\n{settings}"));
    lab
}

fn checked_out(lab: &Lab) -> String {
    lab.ask_git(["symbolic-ref", "--short", "HEAD"]).trim().to_owned()
}

fn branches(lab: &Lab) -> Vec<String> {
    let list = lab.ask_git(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    list.lines().map(str::to_owned).collect()
}

#[test]
fn each_spec_is_a_commit_on_its_own_branch_that_begins_where_the_last_one_ended() {
    let lab = branching("", &["a.md", "b.md"]);
    let (user, base) = (checked_out(&lab), lab.head());
    lab.write("mine.txt", "not committed\n");
    lab.agent([]).ok();
    let status = lab.status().replace(" M ralph/inbox.jsonl\n", "");
    assert_eq!(status, "?? mine.txt", "nothing of the run but the queue is in home");
    assert!(lab.ask_git(["show", "ralph/b:.ralph/progress-log.md"]).contains("Write one"));
    assert_eq!(branches(&lab), [user.as_str(), "ralph/a", "ralph/b"]);
    assert_eq!((checked_out(&lab), lab.head()), (user.clone(), base.clone()), "home stays");
    assert!(!lab.exists("work"));
    let tip = |name: &str| lab.ask_git(["rev-parse", name]).trim().to_owned();
    assert_eq!(tip(&user), base);
    assert_eq!((tip("ralph/a~1"), tip("ralph/b~1")), (base, tip("ralph/a")));
    assert_eq!(lab.read("mine.txt"), "not committed\n");
    assert!(lab.ask_git(["show", "--stat", "ralph/b"]).contains("work/"));
}

#[test]
fn a_spec_that_fails_leaves_no_branch() {
    let lab = branching("", &["a.md", "b.md"]);
    lab.agents(&hopeless("a.md"));
    let user = checked_out(&lab);
    lab.agent([]).fails(3);
    assert_eq!(branches(&lab), [user.as_str(), "ralph/b"]);
    lab.agents(&hopeless("c.md"));
    lab.write_spec("c.md");
    lab.run(["inbox", "add", "c.md"]).ok();
    lab.agent([]).fails(3);
    assert_eq!(branches(&lab), [user.as_str(), "ralph/b"]);
    assert_eq!(checked_out(&lab), user);
}

#[test]
fn a_spec_that_was_killed_goes_on_on_its_branch() {
    let lab = branching("", &["a.md"]);
    lab.agents(&hangs_once("a.md"));
    let user = checked_out(&lab);
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    lab.signal("KILL", agent.pid());
    agent.wait();
    lab.agent([]).ok();
    assert_eq!(branches(&lab), [user.as_str(), "ralph/a"]);
    let log = lab.ask_git(["log", "--format=%s", &format!("{user}..ralph/a")]);
    assert_eq!(log, "ralph: complete a");
}

#[test]
fn a_branch_of_that_name_stays_what_it_is() {
    let lab = branching("", &["a.md"]);
    let (user, base) = (checked_out(&lab), lab.head());
    lab.git(["branch", "ralph/a"]).ok();
    lab.agent([]).ok();
    assert_eq!(branches(&lab), [user.as_str(), "ralph/a", "ralph/a-2"]);
    assert_eq!(lab.ask_git(["rev-parse", "ralph/a"]).trim(), base);
}

#[test]
fn whoever_is_to_review_a_spec_is_asked_with_its_branch_and_what_it_stands_on() {
    let ask = r#"agent.pull_request = "echo \"$RALPH_BRANCH on $RALPH_BASE: $RALPH_TITLE\" | tee -a \"$HOME/asked\"""#;
    let lab = branching(ask, &["a.md", "b.md"]);
    let user = checked_out(&lab);
    let run = lab.agent([]).ok();
    let asked = std::fs::read_to_string(lab.home().join("asked")).unwrap();
    let wanted =
        format!("ralph/a on {user}: ralph: complete a\nralph/b on ralph/a: ralph: complete b\n");
    assert_eq!(asked, wanted);
    says(&run, "PULL REQUEST: ralph/b on ralph/a");
}

#[test]
fn a_review_that_cannot_be_asked_for_is_a_warning() {
    let lab = branching("agent.pull_request = \"gh\"", &["a.md"]);
    let run = lab.agent([]).ok();
    says(&run, "no pull request was made for a.md");
    says(&run, "there is no remote to push to");
    assert_eq!(lab.statuses(), ["a.md done"]);
}

#[test]
fn construct_brings_its_commits_to_the_branch_that_is_named() {
    let lab = lab(&["a.md"]);
    lab.commit("inbox");
    let (user, base) = (checked_out(&lab), lab.head());
    let run = lab.run(["construct", "a.md", "--branch", "work/a"]).ok();
    says(&run, "BRANCH: commits arrive on work/a");
    let report = lab.run(["report"]).ok().stdout;
    assert!(report.contains("a.md: on branch work/a"), "{report}");
    let undo = report.split("Undo all of it: `").nth(1).unwrap().split('`').next().unwrap();
    assert!(undo.starts_with("git switch work/a && "), "{undo}");
    assert_eq!((checked_out(&lab), lab.head(), lab.status()), (user, base.clone(), String::new()));
    let range = format!("{base}..work/a");
    assert_eq!(lab.ask_git(["log", "--format=%s", &range, "--", "work"]).lines().count(), 1);
    lab.shell(undo).ok();
    assert_eq!((lab.ask_git(["ls-files", "work"]), lab.status()), Default::default());
    lab.git(["switch", "-q", "-"]).ok();
    lab.set("land.branch = \"spec\"");
    lab.run(["construct", "a.md"]).ok();
    assert!(branches(&lab).contains(&"ralph/a".to_owned()), "{:?}", branches(&lab));
}

#[test]
fn a_branch_called_ralph_leaves_no_room_below_it() {
    let lab = branching("", &["a.md"]);
    lab.git(["branch", "ralph"]).ok();
    lab.agent([]).ok();
    assert!(branches(&lab).contains(&"ralph-a".to_owned()), "{:?}", branches(&lab));
}
