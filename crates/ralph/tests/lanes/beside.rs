//! A person edits, stages, commits, amends, stashes, switches, pulls and resets at random instants while
//! ralph works: nothing of theirs is lost, committed or changed, and every task lands exactly once.
//!
//! `RALPH_PERSON_SEEDS` is how many seeds the long mode tries (5,000); docs/reliability.md has the command.

use std::thread;

use crate::person::{FILES, Person, SHARED, git};
use crate::plans::{Format, task};
use crate::repo::{Repo, repo_with, rule, said, until};

const IDS: [&str; 6] = ["t-aa01", "t-aa02", "t-aa03", "t-aa04", "t-aa05", "t-aa06"];

/// Each task makes a file and appends to one that the person changes too.
const STEPS: &str = "{ write = \"work/{task}.txt\", text = \"{task} is done\\n\" }, \
    { append = \"src/shared.txt\", text = \"task {task}\\n\" }, { claim = \"done\" }";

/// How often git refused a command of the person's.
#[derive(Debug, Default)]
struct Refusals {
    commands: usize,
    refused: u32,
    taken_back: u32,
}

fn home() -> Repo {
    let repo = repo_with(Format::Deluxe, &IDS.map(task));
    for path in FILES {
        repo.write(path, "from the start\n");
    }
    let middle: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    repo.write(SHARED, format!("user 0\n{middle}"));
    repo.commit("files");
    repo.script(&rule("", STEPS));
    repo
}

fn person_and_ralph(seed: u64) -> Refusals {
    let repo = home();
    let mut person = Person::new(&repo, seed);
    let running = repo.spawn(["build"]);
    // A run belongs to the branch on which it starts.
    until(|| repo.exists(".git/refs/ralph"));
    let running = thread::spawn(|| running.wait());
    while !running.is_finished() {
        person.act();
        person.pause();
    }
    let mut run = running.join().unwrap();
    let mut told = said(&run);
    person.heed(&told);
    person.come_home();
    for _ in 0..3 {
        if run.code != 0 {
            run = repo.build([]);
            told += &format!("---- started again\n{}", said(&run));
        }
    }
    // Arrivals in the very end.
    run = repo.build([]);
    let told = format!("seed {seed}\n{told}\n{}\n{}", person.diary.join("\n"), story(&repo));
    assert_eq!(run.code, 0, "{}\n{told}", said(&run));
    person.check(|line| line.starts_with("task "));
    each_task_is_there_once(&repo, &told);
    nothing_of_the_persons_is_in_commits_of_ralph(&repo, &told);
    Refusals {
        commands: person.diary.len(),
        refused: person.refused,
        taken_back: person.taken_back,
    }
}

/// What git and the journal know about how the branch moved, for the message of a failure.
fn story(repo: &Repo) -> String {
    let moved = repo.ask_git(["reflog", "show", "--format=%h %gd %gs | %s", "main"]);
    let arrivals =
        ["tip_started", "landed", "arrival_intent", "arrived", "not_arrived", "replayed", "taken"];
    let records = repo.journal().into_iter();
    let records = records.filter(|record| arrivals.iter().any(|name| record["record"] == *name));
    let records: Vec<String> = records.map(|record| record.to_string()).collect();
    format!("{moved}\n{}", records.join("\n"))
}

#[track_caller]
fn each_task_is_there_once(repo: &Repo, told: &str) {
    let mut landed = repo.landed();
    landed.sort();
    assert_eq!(landed, IDS, "commits of the tasks\n{told}");
    let mut runs = repo.runs();
    runs.sort();
    assert_eq!(runs, IDS, "runs of the backend\n{told}");
    let shared = repo.ask_git(["show", "main:src/shared.txt"]);
    for id in IDS {
        let lines = shared.lines().filter(|line| *line == format!("task {id}")).count();
        assert_eq!(lines, 1, "{id} in the shared file\n{shared}\n{told}");
        let own = repo.ask_git(["show", &format!("main:work/{id}.txt")]);
        assert_eq!(own, format!("{id} is done"), "{told}");
        assert!(repo.is_done(id), "{id} in the plan\n{told}");
    }
    let ralphs = repo.ask_git(["status", "--porcelain", "--", ":!user"]);
    assert_eq!(ralphs, "", "what is ralph's is committed and clean\n{told}");
    let locks = repo.shell("find .git -name '*.lock' | grep -v '^.git/ralph/'").stdout;
    assert_eq!(locks, "", "no lock is left\n{told}");
}

#[track_caller]
fn nothing_of_the_persons_is_in_commits_of_ralph(repo: &Repo, told: &str) {
    let format = "--format=commit %H %cn %(trailers:key=Ralph-Attempt,valueonly,separator=%x2C)";
    let log = repo.ask_git([
        "log",
        "--exclude=refs/ralph/*",
        "--all",
        "--first-parent",
        "--name-only",
        format,
    ]);
    let (mut committer, mut is_ralphs) = (String::new(), false);
    for line in log.lines().filter(|line| !line.is_empty()) {
        if let Some(commit) = line.strip_prefix("commit ") {
            committer = commit.to_owned();
            is_ralphs = commit.contains("Tess Ter ");
            continue;
        }
        let persons = line.starts_with("user/") || line.starts_with("remote/");
        let by_hand = commit_has_no_attempt(&committer);
        assert!(!(persons && is_ralphs && !by_hand), "{line} is in {committer}\n{told}");
        // What the person commits holds nothing of ralph's.
        let own = persons || line == SHARED;
        assert!(
            own || !by_hand || is_of_the_start(repo, &committer),
            "{line} in {committer}\n{told}"
        );
    }
}

fn commit_has_no_attempt(words: &str) -> bool {
    // Trailers are ids in capitals and digits; names are not.
    words.split(' ').next_back().is_none_or(|word| word.len() != 26)
}

/// Whether a commit was there before ralph began, or is part of a stash entry.
fn is_of_the_start(repo: &Repo, words: &str) -> bool {
    let commit = words.split(' ').next().unwrap();
    let subject = git(repo.root(), &["log", "-1", "--format=%s", commit]).said;
    ["start", "files"].contains(&subject.as_str())
        || ["WIP on", "index on", "untracked files on", "On "]
            .iter()
            .any(|p| subject.starts_with(p))
}

macro_rules! seeds {
    ($($name:ident $from:literal $count:literal;)*) => {$(
        #[test]
        fn $name() {
            many($from..$from + $count);
        }
    )*};
}

/// Try seeds, and say how often git refused a command of the person's.
fn many(seeds: std::ops::Range<u64>) {
    let mut all = Refusals::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let one = person_and_ralph(seed);
        all.commands += one.commands;
        all.refused += one.refused;
        all.taken_back += one.taken_back;
    }
    eprintln!("{count} runs: {all:?}");
}

seeds! {
    a_person_beside_ralph_with_seeds_0_to_3 0 4;
    a_person_beside_ralph_with_seeds_4_to_128 4 125;
    a_person_beside_ralph_with_seeds_129_to_252 129 124;
    a_person_beside_ralph_with_seeds_253_to_376 253 124;
    a_person_beside_ralph_with_seeds_377_to_499 377 123;
}

#[test]
#[ignore = "long: docs/reliability.md has the command"]
fn a_person_beside_ralph_for_long() {
    let seeds = std::env::var("RALPH_PERSON_SEEDS").ok().and_then(|n| n.parse().ok());
    let from = std::env::var("RALPH_PERSON_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    many(from..from + seeds.unwrap_or(5000));
}
