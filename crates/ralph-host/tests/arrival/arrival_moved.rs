//! The rows of a branch that the person moved.

use ralph_core::cycle::{ArrivalWait, JournalRecord, MissingWorkAnswer};
use ralph_host::git::{ArrivalOutcome, ReplayGateResult};

use crate::stage::{PLAN, Stage, lines};

fn person_commits(stage: &Stage, path: &str, content: &str) -> String {
    stage.write(path, content);
    stage.git(["add", path]);
    stage.git(["commit", "-q", "-m", "mine", "--", path]);
    stage.at("HEAD")
}

#[test]
fn waiting_commits_are_replayed_onto_the_persons() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n")), (PLAN, Some("plan\nt-1 done\n"))]);
    let second =
        stage.land(&[("b.txt", Some("two\n")), (PLAN, Some("plan\nt-1 done\nt-2 done\n"))]);
    stage.write(PLAN, "plan\nmine\n");
    stage.git(["commit", "-q", "-am", "my plan"]);
    let mine = person_commits(&stage, "c.txt", "mine\n");
    stage.write("new.txt", "untracked\n");
    stage.arrives();
    assert_ne!(stage.tip(), second);
    assert_eq!(stage.at("HEAD~2"), mine);
    assert_eq!(stage.host.gated, [stage.tip()]);
    assert_eq!(stage.project.read(PLAN), "plan\nmine\nt-1 done\nt-2 done\n");
    assert_eq!(stage.project.read("b.txt"), "two\n");
    let log = stage.git([
        "log",
        "-1",
        "--format=%an %ae %ad %cn|%s|%(trailers:key=Ralph-Attempt)",
        "--date=raw",
    ]);
    let wanted = "Ada Agent ada@example.com 1700000000 +0200 Uma User|ralph: 01ATTEMPT0002|Ralph-Attempt: 01ATTEMPT0002";
    assert_eq!(log, wanted);
    let body = |name: &str| stage.git(["log", "-1", "--format=%B", name]);
    assert_eq!(body("HEAD"), body(&second));
    assert_eq!(stage.status(), ["?? new.txt"]);
    let replay = stage.host.records.iter().find_map(|record| match record {
        JournalRecord::Replayed(replay) => Some(replay),
        _ => None,
    });
    let gated: Vec<bool> = replay.unwrap().commits.iter().map(|c| c.gated_before_replay).collect();
    assert_eq!(gated, [true, false]);
}

#[test]
fn a_conflict_waits_and_the_persons_merge_counts() {
    let mut stage = Stage::new();
    let tip = stage.land(&[("a.txt", Some("one\n"))]);
    let mine = person_commits(&stage, "a.txt", "mine\n");
    assert_eq!(stage.waits(), ArrivalWait::Conflict { paths: vec!["a.txt".into()] });
    assert_eq!((stage.at("main"), stage.tip()), (mine, tip));
    stage.git(["merge", "-q", "-X", "ours", "refs/ralph/r1/tip"]);
    stage.arrives();
    assert_eq!(stage.tip(), stage.at("main"));
    stage.land(&[("b.txt", Some("two\n"))]);
    stage.arrives();
}

#[test]
fn a_squash_and_a_cherry_pick_count_by_their_trailers() {
    for squash in [true, false] {
        let mut stage = Stage::new();
        stage.land(&[("a.txt", Some("one\n"))]);
        stage.land(&[("b.txt", Some("two\n"))]);
        match squash {
            true => {
                stage.git(["merge", "-q", "--squash", "refs/ralph/r1/tip"]);
                stage.git(["commit", "-q", "--no-edit"]);
            }
            false => drop(stage.git(["cherry-pick", "main..refs/ralph/r1/tip"])),
        }
        // Another author's content on top would conflict with a replay.
        person_commits(&stage, "a.txt", "mine\n");
        let mine = stage.at("main");
        stage.arrives();
        assert_eq!(stage.tip(), mine, "nothing was replayed twice");
        assert!(stage.line.waiting().is_empty());
    }
}

#[test]
fn red_gates_wait_and_move_nothing() {
    let mut stage = Stage::new();
    let tip = stage.land(&[("a.txt", Some("one\n"))]);
    let mine = person_commits(&stage, "b.txt", "mine\n");
    stage.host.gates = ReplayGateResult::Red(vec!["test".into()]);
    assert_eq!(stage.waits(), ArrivalWait::RedGates { failed: vec!["test".into()] });
    assert_eq!((stage.at("main"), stage.tip()), (mine, tip));
    stage.host.gates = ReplayGateResult::Green;
    stage.arrives();
}

#[test]
fn an_amended_arrival_is_found_by_its_trailer() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.arrives();
    stage.land(&[("b.txt", Some("two\n"))]);
    stage.write("c.txt", "mine\n");
    stage.git(["commit", "-q", "--amend", "--no-edit", "c.txt"]);
    let amended = stage.at("main");
    stage.arrives();
    assert_eq!(stage.at("main~1"), amended);
    assert_eq!(stage.project.read("c.txt"), "mine\n");
}

#[test]
fn a_rebased_branch_is_followed() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.arrives();
    stage.land(&[("b.txt", Some("two\n"))]);
    stage.git(["switch", "-q", "-c", "upstream", "main~1"]);
    person_commits(&stage, "c.txt", "theirs\n");
    stage.git(["switch", "-q", "main"]);
    stage.git(["rebase", "-q", "upstream"]);
    stage.arrives();
    assert_eq!(stage.project.read("b.txt"), "two\n");
    assert_eq!(
        stage.git(["log", "--format=%s", "main"]),
        "ralph: 01ATTEMPT0002\nralph: 01ATTEMPT0001\nmine\nfirst"
    );
}

#[test]
fn a_reset_branch_waits_until_the_person_wants_the_rest() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.arrives();
    stage.land(&[("b.txt", Some("two\n"))]);
    stage.git(["reset", "-q", "--hard", "main~1"]);
    let base = stage.at("main");
    assert_eq!(
        stage.waits(),
        ArrivalWait::Rewritten { missing: vec!["task-01ATTEMPT0001".into()] }
    );
    assert_eq!(stage.at("main"), base);
    assert_eq!(stage.arrive_with(MissingWorkAnswer::BringRest), ArrivalOutcome::Complete);
    assert_eq!((stage.at("main~1"), stage.project.read("b.txt")), (base, "two\n".into()));
    assert_eq!(stage.project.read("a.txt"), lines("a.txt"), "the missing task is done again");
    assert!(stage.line.is_settled());
}

#[test]
fn a_plan_that_says_accepted_stands_for_its_commit() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.arrives();
    stage.land(&[("b.txt", Some("two\n"))]);
    stage.git(["commit", "-q", "--amend", "-m", "in my own words"]);
    assert!(matches!(stage.waits(), ArrivalWait::Rewritten { .. }));
    stage.host.accepted.insert("task-01ATTEMPT0001".into());
    stage.arrives();
    assert_eq!(stage.project.read("b.txt"), "two\n");
}

#[test]
fn a_tip_follows_commits_of_the_person_when_nothing_waits() {
    let mut stage = Stage::new();
    let mine = person_commits(&stage, "a.txt", "mine\n");
    stage.arrives();
    assert_eq!((stage.tip(), stage.host.gated.len()), (mine, 0));
}

#[test]
fn a_replay_arrives_on_a_branch_that_home_left() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    person_commits(&stage, "b.txt", "mine\n");
    stage.git(["switch", "-q", "-c", "topic"]);
    let before = stage.picture();
    stage.arrives();
    assert_eq!(stage.picture().files, before.files);
}

#[test]
fn replayed_commits_are_signed_again() {
    let mut stage = Stage::new();
    stage.write(".git/sign.sh", "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho '-----BEGIN PGP SIGNATURE-----'\necho\necho '-----END PGP SIGNATURE-----'\n");
    stage.project.mode(".git/sign.sh", 0o755);
    let program = stage.project.path(".git/sign.sh");
    stage.land(&[("a.txt", Some("one\n"))]);
    person_commits(&stage, "b.txt", "mine\n");
    stage.git(["config", "commit.gpgSign", "true"]);
    stage.git(["config", "gpg.program", program.to_str().unwrap()]);
    stage.arrives();
    assert!(stage.git(["cat-file", "commit", "main"]).contains("BEGIN PGP SIGNATURE"));
}
