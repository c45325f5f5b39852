//! What the next start does about an attempt that was interrupted at the worst of moments.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use crate::dirt;
use crate::plans::{Format, task};
use crate::processes::{left, none_is_left, supervisor_of};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, said, says, touch, until};

/// A gate that is as red as before. It waits in the middle, after it has made `$HOME/gate`, on the work when
/// `$HOME/slow-work` is there, and at the base when `$HOME/slow-base` is.
const RED: &str = r#"at=base; if [ -e work ]; then at=work; fi
if [ -e "$HOME/slow-$at" ]; then touch "$HOME/gate"; exec sleep 600; fi
echo 'test old ... FAILED'; exit 1"#;

/// A repository with one task and this gate.
fn gated(command: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    repo.config(&format!(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\ncommand = '''{command}'''\n"
    ));
    repo
}

/// Start ralph, wait until its gate waits there, and kill it.
fn kill_in_the_gate(repo: &Repo, at: &str) {
    let gate = repo.home().join("gate");
    let slow = repo.home().join(format!("slow-{at}"));
    fs::write(&slow, "").unwrap();
    let run = repo.spawn(["build"]);
    until(|| gate.exists());
    assert_eq!(run.kill().code, 137);
    none_is_left(repo.home());
    fs::remove_file(gate).unwrap();
    fs::remove_file(slow).unwrap();
}

/// A process with these variables, which waits.
fn sleeper(home: &Path, variables: &[(&str, &str)]) -> Child {
    let mut sleep = Command::new("sleep");
    sleep.arg("300").env("HOME", home).envs(variables.iter().copied()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_start_leaves_that_is_killed_with_its_supervisor_while_it_recovers_is_ended() {
    let repo = gated(RED);
    kill_in_the_gate(&repo, "work");
    fs::write(repo.home().join("slow-work"), "").unwrap();
    // This one recovers: it is in no journal yet, and its gate waits again.
    let run = repo.spawn(["build"]);
    until(|| repo.home().join("gate").exists());
    let pid = run.pid();
    let supervisor = supervisor_of(pid);
    repo.shell(&format!("kill -STOP {pid}; kill -KILL {supervisor}")).ok();
    assert_eq!(run.kill().code, 137);
    assert!(!left(repo.home()).is_empty(), "nobody was there to end the gate");
    let elsewhere = [("RALPH_RUN", "another"), ("RALPH_PLACE", "0123456789abcdef")];
    let mut others = [sleeper(repo.root(), &elsewhere), sleeper(repo.root(), &[])];
    fs::remove_file(repo.home().join("slow-work")).unwrap();
    let run = repo.build([]).ok();
    says(&run, "ended the processes of the interrupted run");
    assert_eq!(left(repo.home()), [""; 0]);
    assert_eq!((repo.landed(), repo.runs().len()), (vec!["t-aaa1".to_owned()], 1));
    for other in &mut others {
        assert!(other.try_wait().unwrap().is_none(), "it belongs to somebody else");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

/// Kill ralph while it gates the work, and then while it looks at the base of that: the backend's work is
/// not there, and is not lost.
fn killed_at_the_base(repo: &Repo) {
    kill_in_the_gate(repo, "work");
    kill_in_the_gate(repo, "base");
    assert!(!repo.lane("work/t-aaa1.txt").exists(), "the lane stands at the base");
    let run = repo.build([]).ok();
    says(&run, "its work is judged now");
    assert_eq!(repo.runs().len(), 1, "work that was paid for is not thrown away:\n{}", said(&run));
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n");
}

#[test]
fn a_crash_while_the_base_is_looked_at_loses_no_work() {
    let repo = gated(RED);
    killed_at_the_base(&repo);
    assert_eq!(repo.status(), "");
}

#[test]
fn a_crash_while_the_base_is_looked_at_loses_no_work_beside_dirt() {
    let repo = gated(RED);
    let (start, dirt) = (repo.head(), dirt::make(&repo));
    killed_at_the_base(&repo);
    dirt.is_untouched(&repo, &start);
}

#[test]
fn a_crash_while_the_base_is_gated_before_the_first_backend_counts_for_nothing() {
    let repo = gated(RED);
    kill_in_the_gate(&repo, "base");
    assert_eq!(repo.runs().len(), 0);
    let run = repo.build([]).ok();
    says(&run, "1 landed in 1 attempt");
    assert_eq!(repo.status(), "");
}

/// Kill at every point of a run that gates the base. From the moment at which the backend has ended
/// its work is kept: no second run of it is paid for.
fn at_every_point(made: impl Fn() -> Repo) {
    let mut late = 0;
    for point in 1.. {
        let repo = made();
        let run = repo.command(["build"]).env("RALPH_CRASH_POINT", point.to_string()).run();
        if run.code != 137 {
            assert_eq!(run.code, 0, "{}", said(&run));
            break;
        }
        let had_ended = repo.journal().iter().any(|record| record["record"] == "backend_ended");
        let again = repo.build([]);
        let what = format!("killed at point {point}:\n{}", said(&again));
        assert_eq!(again.code, 0, "{what}");
        assert_eq!(repo.landed(), ["t-aaa1"], "{what}");
        assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n", "{what}");
        if had_ended {
            late += 1;
            assert_eq!(repo.runs().len(), 1, "{what}");
        }
    }
    assert!(late >= 6, "only {late} points after the end of the backend: the points are gone");
}

#[test]
fn no_work_is_paid_for_twice_wherever_a_run_that_gates_the_base_is_killed() {
    at_every_point(|| gated(RED));
}

#[test]
fn no_work_is_paid_for_twice_wherever_a_look_at_the_base_is_killed() {
    at_every_point(|| {
        let repo = gated(RED);
        kill_in_the_gate(&repo, "work");
        repo
    });
}

#[test]
fn no_work_is_paid_for_twice_wherever_a_look_at_the_base_is_killed_beside_dirt() {
    at_every_point(|| {
        let repo = gated(RED);
        dirt::make(&repo);
        kill_in_the_gate(&repo, "work");
        repo
    });
}

/// A backend does this to the plan of two tasks, and ralph is killed before it ends. The next start tells
/// this, and both tasks are done.
#[track_caller]
fn killed_after(format: Format, deed: &str, told: &str) -> Repo {
    let repo = after_a_kill(format, deed);
    let restored = repo.events("ledger_restored");
    assert_eq!(restored.len(), 1, "{restored:?}");
    assert!(restored[0]["message"].as_str().unwrap().contains(told), "{restored:?}");
    repo
}

/// The same, whatever it tells.
#[track_caller]
fn after_a_kill(format: Format, deed: &str) -> Repo {
    let repo = repo_with(format, &[task("t-one1"), task("t-two2")]);
    fs::write(repo.home().join("project"), repo.root().to_str().unwrap()).unwrap();
    let mark = r#"touch \"$HOME/there\""#;
    let hang = format!(r#"{{ run = "{deed}; {mark}" }}, {{ hang = true }}"#);
    repo.script(&rule("", &hang));
    let run = repo.spawn(["build"]);
    until(|| repo.home().join("there").exists());
    assert_eq!(run.kill().code, 137);
    none_is_left(repo.home());
    repo.script(&rule("", GOOD));
    let run = repo.build([]).ok();
    assert_eq!(repo.runs().len(), 3, "both tasks were still to be done:\n{}", said(&run));
    assert!(repo.is_done("t-one1") && repo.is_done("t-two2"), "{}", repo.plan());
    assert_eq!(repo.status(), "");
    repo
}

/// The user's plan by its absolute path, for a command of a backend.
const USERS: &str = "$(cat \\\"$HOME/project\\\")";

#[test]
fn what_was_written_into_the_users_plan_before_a_crash_is_undone_at_the_next_start() {
    let tick = format!("sed -i 's/- .[ ]./- [x]/' {USERS}/progress.md");
    let repo = killed_after(Format::Progress, &tick, "was marked done");
    let kept = repo.read(".ralph/context/progress.md.of-iteration-1");
    assert_eq!(kept.matches("- [x] ").count(), 2, "{kept}");
    killed_after(Format::Jsonl, &format!(": > {USERS}/ralph/plan.jsonl"), "was taken out");
}

#[test]
fn a_plan_of_the_users_that_was_damaged_or_removed_before_a_crash_is_put_back_at_the_next_start() {
    for (format, deed) in [
        (Format::Jsonl, format!("echo {{ >> {USERS}/ralph/plan.jsonl")),
        (Format::Deluxe, format!("rm {USERS}/plan.json")),
        (Format::Progress, format!("rm {USERS}/progress.md; mkdir {USERS}/progress.md")),
    ] {
        killed_after(format, &deed, "damaged or removed while a backend ran");
    }
}

#[test]
fn what_was_written_into_the_plan_of_the_run_before_a_crash_is_undone_at_the_next_start() {
    let copies = format!("{USERS}/.git/ralph/runs/*/ledger");
    let tick = format!("sed -i 's/- .[ ]./- [x]/' {copies}/progress.md");
    killed_after(Format::Progress, &tick, "was marked done");
    let remove = format!("rm {copies}/ralph/plan.jsonl");
    killed_after(Format::Jsonl, &remove, "damaged or removed");
}

#[test]
fn nothing_stays_of_what_a_backend_wrote_into_the_plan_of_its_lane_before_a_crash() {
    let tick = "sed -i 's/- .[ ]./- [x]/' progress.md";
    let repo = after_a_kill(Format::Progress, tick);
    assert!(repo.events("ledger_restored").is_empty());
    after_a_kill(Format::Jsonl, "echo { >> ralph/plan.jsonl");
}

#[test]
fn gates_that_a_backend_wrote_before_a_crash_judge_nothing() {
    let repo = repo(&[task("t-aaa1")]);
    let easy =
        "backend = \\\"sim\\\"\\n[[gates]]\\nname = \\\"test\\\"\\ncommand = \\\"true\\\"\\n";
    let write = format!(r#"{{ write = "ralph.toml", text = "{easy}" }}"#);
    repo.script(&rule("", &format!("{write}, {}, {{ hang = true }}", touch("running"))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("running");
    assert_eq!(run.kill().code, 137);
    repo.script(&rule("", BROKEN));
    let run = repo.build(["--once"]).fails(3);
    says(&run, "gates failed");
    assert!(repo.landed().is_empty(), "{}", said(&run));
}

#[test]
fn an_attempt_that_is_forgotten_is_over_in_every_view() {
    let repo = repo(&[task("t-aaa1")]);
    let wipe = format!(r#"{{ run = ": > {}" }}"#, repo.path("ralph/plan.jsonl").display());
    let work = r#"{ write = "src/x.c", text = "x\n" }"#;
    repo.script(&rule("", &format!("{wipe}, {work}, {}, {{ hang = true }}", touch("running"))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("running");
    assert_eq!(run.kill().code, 137);
    assert_eq!(repo.state()["status"], "running");
    let run = repo.run(["recover", "--forget"]).ok();
    says(&run, "ralph salvage diff");
    assert_eq!(repo.state()["status"], "interrupted");
    let ends = repo.events("iteration_end");
    assert_eq!((ends.len(), &ends[0]["metadata"]["failure"]["kind"]), (1, &"interrupted".into()));
    let end = repo.events("orchestrator_end");
    assert_eq!((end.len(), &end[0]["metadata"]["remaining"]), (1, &1.into()));
    assert!(repo.run(["salvage", "diff", "1"]).ok().stdout.contains("src/x.c"));
    // Nobody can tell who emptied the plan in home: ralph's own copy is whole, and comes with the next run.
    assert_eq!(repo.status(), " M ralph/plan.jsonl");
    repo.script(&rule("", GOOD));
    repo.build([]).ok();
    assert_eq!(repo.status(), "");
}
