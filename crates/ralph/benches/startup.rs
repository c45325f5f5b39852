//! How long a short ralph command takes next to a short git command.
//!
//! Process start-up depends on the machine and on what else it does, so a time alone says nothing.
//! All commands run in turn in one loop, and what counts is the ratio of medians. Nothing here
//! fails for being slow; a command that gives the wrong answer does.
//!
//! ```text
//! cargo bench -p ralph --bench startup             300 rounds
//! cargo bench -p ralph --bench startup -- --quick    5 rounds: does it run at all?
//! ```
#![expect(clippy::disallowed_methods, reason = "this program starts programs and makes a project")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TASKS: usize = 1_000;

/// A command, and the one it is held against with the greatest ratio we want to see.
struct Pair {
    ours: &'static [&'static str],
    answer: fn(&str) -> bool,
    theirs: &'static [&'static str],
    goal: f64,
}

const PAIRS: [Pair; 2] = [
    Pair {
        ours: &["--version"],
        answer: |out| out.starts_with("ralph "),
        theirs: &["--version"],
        goal: 3.0,
    },
    Pair {
        ours: &["query", "stage"],
        answer: |out| out == "BUILD\n",
        theirs: &["rev-parse", "HEAD"],
        goal: 5.0,
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = if std::env::args().any(|a| a == "--quick") { 5 } else { 300 };
    let project = tempfile::tempdir()?;
    set_up(project.path())?;
    for pair in &PAIRS {
        let out = ralph(project.path(), pair.ours).stdout(Stdio::piped()).output()?;
        let out = String::from_utf8_lossy(&out.stdout).into_owned();
        if !(pair.answer)(&out) {
            return Err(format!("ralph {:?} answered {out:?}", pair.ours).into());
        }
    }
    let mut times: Vec<[Vec<Duration>; 2]> = PAIRS.iter().map(|_| Default::default()).collect();
    for _ in 0..rounds {
        for (pair, [ours, theirs]) in PAIRS.iter().zip(&mut times) {
            ours.push(time(ralph(project.path(), pair.ours))?);
            theirs.push(time(git(project.path(), pair.theirs))?);
        }
    }
    println!("medians of {rounds} interleaved runs, in a repository with {TASKS} tasks");
    for (pair, [ours, theirs]) in PAIRS.iter().zip(&mut times) {
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!(
            "ralph {:<11} {:>8.2?}   git {:<14} {:>8.2?}   ratio {:>5.2}   goal {:.0} {}",
            pair.ours.join(" "),
            ours,
            pair.theirs.join(" "),
            theirs,
            ratio,
            pair.goal,
            if ratio <= pair.goal { "met" } else { "MISSED" },
        );
    }
    Ok(())
}

/// A repository with one commit and a plan in which every task waits for earlier ones.
fn set_up(project: &Path) -> Result<(), Box<dyn Error>> {
    let mut plan = String::from("{\"t\":\"spec\",\"spec\":\"bench.md\"}\n");
    for i in 0..TASKS {
        let deps = match i {
            0 => String::new(),
            _ => format!("\"t-{:04}\",\"t-{:04}\"", i - 1, i / 2),
        };
        writeln!(
            plan,
            "{{\"t\":\"task\",\"id\":\"t-{i:04}\",\"spec\":\"bench.md\",\"name\":\"Do part {i}\",\
             \"s\":\"p\",\"accept\":\"part {i} is there\",\"deps\":[{deps}]}}"
        )?;
    }
    fs::create_dir_all(project.join("ralph/specs"))?;
    fs::write(project.join("ralph/specs/bench.md"), "# Bench\n")?;
    fs::write(project.join("ralph/plan.jsonl"), plan)?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    let commit = [&who[..], &["commit", "--quiet", "-m", "start"]].concat();
    for args in [&["init", "--quiet"][..], &["add", "-A"], &commit] {
        let status = git(project, args).status()?;
        if !status.success() {
            return Err(format!("git {args:?} failed").into());
        }
    }
    Ok(())
}

fn ralph(project: &Path, args: &[&str]) -> Command {
    command(env!("CARGO_BIN_EXE_ralph"), project, args)
}

fn git(project: &Path, args: &[&str]) -> Command {
    command("git", project, args)
}

/// The same quiet surroundings for every program: no settings of the person who runs this.
fn command(program: &str, project: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(project);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let ours = |name: &str| name.starts_with("GIT_") || name.starts_with("RALPH_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CONFIG_HOME").env("HOME", project);
    command
}

fn time(mut command: Command) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?} ended with {status}").into()) }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
