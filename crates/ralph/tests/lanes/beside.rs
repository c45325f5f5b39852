//! A person edits, stages, commits, amends, stashes, switches, pulls and resets at random instants while
//! ralph works: nothing of theirs is lost, committed or changed, and every task lands exactly once.
//!
//! `RALPH_PERSON_SEEDS` is how many seeds the long mode tries (5,000); docs/reliability.md has the command.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ralph_testkit::{Run, project};

use crate::person::{FILES, Person, SHARED, furnish, git};
use crate::plans::{Format, field, task};
use crate::repo::{Repo, repo_with, rule, said};

const IDS: [&str; 3] = ["t-aa01", "t-aa02", "t-aa03"];

/// Each task waits for the person, makes a file and appends to one that the person changes too.
const STEPS: &str = "{ hold = \"~/go-{task}\" }, \
    { write = \"work/{task}.txt\", text = \"{task} is done\\n\" }, \
    { append = \"src/shared.txt\", text = \"task {task}\\n\" }, { claim = \"done\" }";

/// How often git refused a command of the person's.
#[derive(Debug, Default)]
struct Refusals {
    runs: u32,
    actions: u32,
    refused_by_locks: u32,
    taken_back: u32,
    unstaged: u32,
    overwritten_edits: u32,
}

/// A repository that is made once, and a copy of it for each run.
fn home() -> Repo {
    static ORIGINAL: OnceLock<Repo> = OnceLock::new();
    let original = ORIGINAL.get_or_init(|| {
        let repo = repo_with(Format::Deluxe, &IDS.map(task));
        for path in FILES {
            repo.write(path, "from the start\n");
        }
        let middle: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        repo.write(SHARED, format!("user 0\n{middle}"));
        repo.commit("files");
        repo.script(&rule("", STEPS));
        furnish(&repo);
        repo
    });
    let project = project!();
    let scenario = project.home().join("scenario.toml");
    let project = project.env("RALPH_SIM", scenario);
    let place = |root: &Path| root.parent().unwrap().to_owned();
    let (from, to) = (place(original.root()).join("."), place(project.root()));
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    Repo { project, format: original.format, tasks: original.tasks.clone() }
}

/// An instant in a run at which the person does something.
#[derive(Clone, Copy, Debug)]
enum Moment {
    AgentWorks,
    Landed,
    ArrivalBegins,
    IndexIsLocked,
    BranchMoved,
}

const MOMENTS: [Moment; 5] = [
    Moment::AgentWorks,
    Moment::Landed,
    Moment::ArrivalBegins,
    Moment::IndexIsLocked,
    Moment::BranchMoved,
];

/// A run of ralph as somebody beside it sees it.
struct WatchedRun<'r> {
    repo: &'r Repo,
    running: JoinHandle<Run>,
    allowed: BTreeSet<String>,
}

impl<'r> WatchedRun<'r> {
    fn start(repo: &'r Repo) -> Self {
        let running = repo.spawn(["build"]);
        let run =
            Self { repo, running: thread::spawn(|| running.wait()), allowed: BTreeSet::new() };
        // A run belongs to the branch on which it starts.
        run.wait(|| repo.exists(".git/refs/ralph"));
        run
    }

    /// Wait until it is so, or the run is over.
    fn wait(&self, so: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(120);
        while !so() && !self.running.is_finished() {
            assert!(Instant::now() < end, "the run does not end");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The task whose agent waits for the person; `None` when the run is over.
    fn next_agent(&mut self) -> Option<String> {
        self.wait(|| self.waiting_agent().is_some());
        self.waiting_agent()
    }

    fn waiting_agent(&self) -> Option<String> {
        let names = fs::read_dir(self.repo.home()).unwrap().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let mut tasks = names
            .filter_map(|name| Some(name.strip_prefix("go-")?.strip_suffix(".held")?.to_owned()));
        tasks.find(|task| !self.allowed.contains(task))
    }

    /// Let the agent of a task work, and come back at this moment, or when the next one waits.
    fn let_work(&mut self, task: String, moment: Moment) {
        let before = self.sign(moment);
        self.repo.allow(&format!("go-{task}"));
        self.allowed.insert(task);
        self.wait(|| self.sign(moment) != before || self.waiting_agent().is_some());
    }

    /// What changes when a moment comes.
    fn sign(&self, moment: Moment) -> String {
        let git = self.repo.path(".git");
        let count = |record: &str| {
            let journal = fs::read(git.join("ralph/journal.jsonl")).unwrap_or_default();
            let record = format!("\"record\":\"{record}\"");
            String::from_utf8_lossy(&journal).matches(&record).count().to_string()
        };
        match moment {
            Moment::AgentWorks => self.allowed.len().to_string(),
            Moment::Landed => count("landed"),
            Moment::ArrivalBegins => count("arrival_intent"),
            Moment::IndexIsLocked => git.join("index.lock").exists().to_string(),
            Moment::BranchMoved => {
                fs::read_to_string(git.join("refs/heads/main")).unwrap_or_default()
            }
        }
    }
}

fn person_and_ralph(seed: u64) -> Refusals {
    let repo = home();
    let mut person = Person::new(&repo, seed);
    let mut run = WatchedRun::start(&repo);
    person.act_times(2);
    while let Some(task) = run.next_agent() {
        person.act_times(5);
        let editor = (person.chance.below(8) == 0).then(|| person.open_editor()).flatten();
        let moment = person.chance.of(&MOMENTS);
        person.note(&format!("{task} goes on, until {moment:?}"));
        run.let_work(task, moment);
        if let Some(editor) = editor {
            person.close_editor(editor);
        }
        person.act_times(4);
    }
    let mut run = run.running.join().unwrap();
    let mut told = said(&run);
    person.heed(&told);
    person.come_home();
    for task in tasks(&person) {
        repo.allow(&format!("go-{task}"));
    }
    // What waits arrives, and nothing is done twice.
    for _ in 0..3 {
        run = repo.build([]);
        told += &format!("---- started again\n{}", said(&run));
        if run.code == 0 {
            break;
        }
    }
    let told = format!("seed {seed}\n{told}\n{}\n{}", person.diary.join("\n"), story(&repo));
    assert_eq!(run.code, 0, "{told}");
    person.check(|line| line.starts_with("task "));
    each_task_is_there_once(&repo, &person, &told);
    nothing_of_the_persons_is_in_commits_of_ralph(&repo, &told);
    Refusals {
        runs: 1,
        actions: person.count,
        refused_by_locks: person.refused,
        taken_back: person.taken_back,
        unstaged: person.unstaged,
        overwritten_edits: person.overwritten,
    }
}

/// Every task, also what the person added.
fn tasks(person: &Person) -> Vec<String> {
    let added = person.added.iter().cloned();
    IDS.map(str::to_owned).into_iter().chain(added).collect()
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
fn each_task_is_there_once(repo: &Repo, person: &Person, told: &str) {
    let count = |all: &[String], id: &String| all.iter().filter(|one| *one == id).count();
    let (landed, runs) = (repo.landed(), repo.runs());
    let shared = repo.ask_git(["show", "main:src/shared.txt"]);
    let plan = crate::plans::value(&repo.ask_git(["show", "main:plan.json"]));
    for id in tasks(person) {
        let status = field(&plan["tasks"], &id, "status");
        // A person may skip a task before its work lands.
        let mut times = usize::from(!(person.gave_status && status == "skipped"));
        let ran = count(&runs, &id);
        // Or have a later run do it again.
        if person.reopened.contains(&id) && ran == 2 {
            times = 2;
        }
        assert_eq!(count(&landed, &id), times, "commits of {id}\n{told}");
        assert!(ran == times || (ran == 1 && times == 0), "runs of the backend for {id}\n{told}");
        let lines = shared.lines().filter(|line| *line == format!("task {id}")).count();
        assert_eq!(lines, times, "{id} in the shared file\n{shared}\n{told}");
        if times > 0 {
            let own = repo.ask_git(["show", &format!("main:work/{id}.txt")]);
            assert_eq!(own, format!("{id} is done"), "{told}");
            assert_eq!(status, "done", "{id} in the plan\n{told}");
        }
    }
    let ralphs = repo.ask_git(["status", "--porcelain", "--", ":!user"]);
    // A status that contradicts what landed stays as the person left it.
    if !(person.gave_status && ralphs == " M plan.json") {
        assert_eq!(ralphs, "", "what is ralph's is committed and clean\n{told}");
    }
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
        let own = own || (line == "plan.json" && is_of_plan(repo, &committer));
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

/// Whether a commit is the person's edit of the plan.
fn is_of_plan(repo: &Repo, words: &str) -> bool {
    let commit = words.split(' ').next().unwrap();
    git(repo.root(), &["log", "-1", "--format=%s", commit]).said.starts_with("plan ")
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
    ($($name:ident $from:literal $end:literal;)*) => {$(
        #[test]
        fn $name() {
            many($from..=$end);
        }
    )*};
}

/// Try seeds, and say how often git refused a command of the person's.
fn many(seeds: impl IntoIterator<Item = u64>) {
    let mut all = Refusals::default();
    for seed in seeds {
        let one = person_and_ralph(seed);
        all.runs += one.runs;
        all.actions += one.actions;
        all.refused_by_locks += one.refused_by_locks;
        all.taken_back += one.taken_back;
        all.unstaged += one.unstaged;
        all.overwritten_edits += one.overwritten_edits;
    }
    eprintln!("a person beside ralph: {all:?}");
}

seeds! {
    a_person_beside_ralph_with_seeds_0_to_3 0 3;
    a_person_beside_ralph_with_seeds_4_to_65 4 65;
    a_person_beside_ralph_with_seeds_66_to_127 66 127;
    a_person_beside_ralph_with_seeds_128_to_189 128 189;
    a_person_beside_ralph_with_seeds_190_to_251 190 251;
    a_person_beside_ralph_with_seeds_252_to_313 252 313;
    a_person_beside_ralph_with_seeds_314_to_375 314 375;
    a_person_beside_ralph_with_seeds_376_to_437 376 437;
    a_person_beside_ralph_with_seeds_438_to_499 438 499;
}

/// As many at once as there are cores, and as many again: most of a run is waiting.
#[test]
#[ignore = "long: docs/reliability.md has the command"]
fn a_person_beside_ralph_for_long() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let from = number("RALPH_PERSON_FROM").unwrap_or(1000);
    let end = from + number("RALPH_PERSON_SEEDS").unwrap_or(5000);
    let at_once = 2 * thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    thread::scope(|scope| {
        for first in 0..at_once {
            scope.spawn(move || many((from + first..end).step_by(at_once as usize)));
        }
    });
}
