//! What `ralph build` takes for a task, next to what git and the agent alone would take.
//!
//! The floor of a task is one start of the agent, `git add -A` and `git commit`, with a plan of the
//! same size in the commit. Ralph does the same with a checkpoint, a journal, a prompt, a gate and the
//! ledger around it. The agent is this program itself: it writes one file and says that it is done.
//!
//! Both sides take turns, task by task: ralph's agent calls in through a socket before it does
//! anything, and is let go when the floor's next task, in a repository of its own, is done and
//! measured. So whatever else the machine does hits both alike. A lap of ralph's goes from letting one
//! agent go to hearing from the next. Nothing here fails for being slow; a run that does not land
//! every task does.
//!
//! ```text
//! cargo bench -p ralph --bench build               10, 100 and 1,000 tasks, a tree that is not clean,
//!                                                  `checkout`, all plan formats, much in home
//! cargo bench -p ralph --bench build -- --short    the same with at most 30 tasks each
//! cargo bench -p ralph --bench build -- --quick    10 and 50 tasks: does it run at all?
//! ```
#![expect(clippy::disallowed_methods, reason = "this program starts programs and makes projects")]

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// The word that makes this program the agent.
const AGENT: &str = "--agent";
/// Where the agent calls in.
const SOCKET: &str = "BENCH_SOCKET";

/// Of a task in a lane, and with `workspace = "checkout"`.
const RATIOS: [f64; 2] = [1.8, 1.4];
const GROWTH: f64 = 1.2;
const MEMORY_KB: u64 = 20 * 1024;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Files of a large repository.
const MANY_FILES: usize = 50_000;
/// So many of them are in a folder.
const IN_A_FOLDER: usize = 250;
/// Files that nobody added, and the bytes of each: 2 GB.
const HEAPS: usize = 20;
const HEAP: u64 = 100 << 20;

/// Tasks of each case on a busy machine.
const SHORT: usize = 30;

/// Longer than ralph waits before it takes the project as left alone.
const LEFT_ALONE: Duration = Duration::from_millis(3500);

/// What is measured: so many tasks, so often, in such a tree, with such a plan.
#[derive(Clone, Copy)]
struct Case {
    tasks: usize,
    rounds: usize,
    tree: Tree,
    plan: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Tree {
    Clean,
    Dirty,
    /// The clean tree is the lane.
    Checkout,
    Large,
    /// Large files that nobody added.
    Untracked,
}

/// Below `ralph/`, as `ralph init` has it.
const JSONL: &str = "ralph/plan.jsonl";

const fn case(tasks: usize, rounds: usize, tree: Tree, plan: &'static str) -> Case {
    Case { tasks, rounds, tree, plan }
}

const QUICK: [Case; 4] = [
    case(10, 1, Tree::Clean, JSONL),
    case(50, 1, Tree::Clean, JSONL),
    case(10, 1, Tree::Dirty, JSONL),
    case(10, 1, Tree::Checkout, JSONL),
];

const FULL: [Case; 10] = [
    case(10, 8, Tree::Clean, JSONL),
    case(100, 2, Tree::Clean, JSONL),
    case(1_000, 1, Tree::Clean, JSONL),
    case(100, 1, Tree::Dirty, JSONL),
    case(100, 1, Tree::Checkout, JSONL),
    case(1_000, 1, Tree::Clean, "plan.json"),
    case(1_000, 1, Tree::Clean, "progress.md"),
    case(1_000, 1, Tree::Clean, "implementation.json"),
    case(50, 1, Tree::Untracked, JSONL),
    case(20, 1, Tree::Large, JSONL),
];

fn main() -> Outcome<()> {
    if std::env::args().any(|word| word == AGENT) {
        return agent();
    }
    let asked = |word: &str| std::env::args().any(|given| given == word);
    let mut cases = if asked("--quick") { QUICK.to_vec() } else { FULL.to_vec() };
    for case in cases.iter_mut().filter(|_| asked("--short")) {
        (case.tasks, case.rounds) = (case.tasks.min(SHORT), 1);
    }
    println!("medians of a task, both sides in turn; a run's start and end are told apart");
    println!(
        "| tasks | plan | tree | floor | + gate | ralph | ratio | start | end | processes | syncs | memory |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut sums = Sums::default();
    for case in &cases {
        let mut measured = Measured::default();
        for _ in 0..case.rounds {
            round(*case, &mut measured)?;
        }
        sums.row(*case, &mut measured);
    }
    sums.print();
    Ok(())
}

/// Write one file and say so. Called in first, when there is somebody to call.
fn agent() -> Outcome<()> {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    if let Some(socket) = std::env::var_os(SOCKET) {
        let mut call = UnixStream::connect(socket)?;
        call.write_all(b"a")?;
        call.read_exact(&mut [0])?;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    fs::write("work.txt", format!("{now}\n"))?;
    println!("<TASK_DONE>");
    Ok(())
}

/// Times of each task and what a run took.
#[derive(Default)]
struct Measured {
    floor: Vec<Duration>,
    gate: Vec<Duration>,
    ralph: Vec<Duration>,
    start: Vec<Duration>,
    end: Vec<Duration>,
    processes: f64,
    syncs: f64,
    memory_kb: u64,
}

/// One run of ralph, with as many tasks of the floor between its own.
fn round(case: Case, measured: &mut Measured) -> Outcome<()> {
    let room = tempfile::tempdir()?;
    let ours = Project::new(room.path().join("ours"), case)?;
    let mut floor = Project::new(room.path().join("floor"), case)?;
    match case.tree {
        Tree::Dirty => {
            fs::write(ours.root.join("users.txt"), "changed by the user\n")?;
            fs::write(ours.root.join("notes.txt"), "new, and nobody else's\n")?;
        }
        Tree::Untracked => {
            for n in 0..HEAPS {
                fs::File::create(ours.root.join(format!("heap-{n}.bin")))?.set_len(HEAP)?;
            }
        }
        Tree::Clean | Tree::Checkout | Tree::Large => {}
    }
    thread::sleep(LEFT_ALONE);
    let (socket, counts) = (room.path().join("socket"), room.path().join("counts"));
    let listener = UnixListener::bind(&socket)?;
    let limit = (case.tasks + 1).to_string();
    let mut released = Instant::now();
    let mut ralph = ours
        .command(
            env!("CARGO_BIN_EXE_ralph"),
            &["build", case.plan, "--quiet", "--max-iterations", &limit],
        )
        .env(SOCKET, &socket)
        .env("RALPH_COUNT", &counts)
        .spawn()?;
    let pid = ralph.id();
    let waiter = thread::spawn(move || {
        let status = ralph.wait();
        let _gone = UnixStream::connect(socket).and_then(|mut call| call.write_all(b"e"));
        status
    });
    for task in 0.. {
        let mut call = listener.accept()?.0;
        let mut who = [0];
        call.read_exact(&mut who)?;
        let lap = released.elapsed();
        match (who[0], task) {
            (b'e', _) => {
                measured.end.push(lap);
                break;
            }
            (_, 0) => measured.start.push(lap),
            (_, _) => measured.ralph.push(lap),
        }
        measured.memory_kb = measured.memory_kb.max(peak_memory(pid));
        measured.floor.push(floor.task()?);
        measured.gate.push(time(floor.command("sh", &["-c", "true"]))?);
        released = Instant::now();
        call.write_all(b"g")?;
    }
    let status = waiter.join().map_err(|_| "the waiting thread panicked")??;
    ours.check(case.tasks, status.success())?;
    let counts: serde_json::Value = serde_json::from_slice(&fs::read(counts)?)?;
    let each = |name: &str| counts[name].as_f64().unwrap_or(f64::NAN) / case.tasks as f64;
    (measured.processes, measured.syncs) = (each("processes"), each("syncs"));
    Ok(())
}

/// A repository with a plan.
struct Project {
    root: PathBuf,
    agent: String,
    case: Case,
    /// The text of the plan, for the floor, which edits it by hand.
    plan: String,
}

impl Project {
    fn new(root: PathBuf, case: Case) -> Outcome<Self> {
        let agent = std::env::current_exe()?.to_string_lossy().into_owned();
        let project = Self { plan: plan_text(case), root, agent, case };
        fs::create_dir_all(project.root.join("ralph/specs"))?;
        let workspace = if case.tree == Tree::Checkout { "checkout" } else { "lane" };
        let config = format!(
            "backend = \"stub\"\ncommit = \"task\"\nworkspace = \"{workspace}\"\n\n\
             [backends.stub]\nkind = \"command\"\ncommand = [\"{}\", \"{AGENT}\"]\n\n\
             [[gates]]\nname = \"ok\"\ncommand = \"true\"\n",
            project.agent
        );
        let put = |path: &str, text: &str| fs::write(project.root.join(path), text);
        put("ralph.toml", &config)?;
        put(".gitignore", "/.ralph/\n/build/ralph-logs/\n.ralph-tmp-*\n")?;
        put("ralph/specs/bench.md", "# Bench\n")?;
        put("users.txt", "as committed\n")?;
        put("work.txt", "nothing yet\n")?;
        put(case.plan, &project.plan)?;
        for n in (0..MANY_FILES).filter(|_| case.tree == Tree::Large) {
            let folder = format!("files/{}", n / IN_A_FOLDER);
            fs::create_dir_all(project.root.join(&folder))?;
            put(&format!("{folder}/{n}.txt"), &format!("file {n}\n"))?;
        }
        for args in [
            &["init", "--quiet"][..],
            &["config", "user.name", "bench"],
            &["config", "user.email", "bench@localhost"],
            &["add", "-A"],
            &["commit", "--quiet", "-m", "start"],
        ] {
            time(project.command("git", args))?;
        }
        Ok(project)
    }

    /// What the floor takes for a task.
    fn task(&mut self) -> Outcome<Duration> {
        self.plan = one_more_done(&self.plan);
        fs::write(self.root.join(self.case.plan), &self.plan)?;
        let mut floor = time(self.command(&self.agent, &[AGENT]))?;
        if self.case.tree == Tree::Large {
            floor += time(self.command("git", &["status"]))?;
        }
        floor += time(self.command("git", &["add", "-A"]))?;
        Ok(floor + time(self.command("git", &["commit", "-m", "a task"]))?)
    }

    /// Every task landed, in a commit of its own.
    fn check(&self, tasks: usize, success: bool) -> Outcome<()> {
        let mut log = self.command("git", &["log", "--format=%s", "--grep=Ralph-Task"]);
        let log = log.stdout(Stdio::piped()).output()?.stdout;
        let landed = String::from_utf8_lossy(&log).lines().count();
        match success && landed == tasks {
            true => Ok(()),
            false => Err(format!("{landed} of {tasks} tasks landed, success: {success}").into()),
        }
    }

    /// The same quiet surroundings for every program: no settings of the person who runs this.
    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let ours = |name: &str| name.starts_with("GIT_") || name.starts_with("RALPH_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CONFIG_HOME");
        command.env("HOME", &self.root).env("XDG_CACHE_HOME", self.root.with_extension("cache"));
        command
    }
}

/// A plan with as many tasks, in the format of its file.
fn plan_text(case: Case) -> String {
    let tasks = |task: &dyn Fn(usize) -> String, between: &str| {
        (0..case.tasks).map(task).collect::<Vec<_>>().join(between)
    };
    match case.plan {
        "plan.json" => {
            let task = |n| {
                format!(
                    "    {{\n      \"id\": \"T{n:04}\",\n      \"title\": \"Do part {n}\",\n      \
                     \"status\": \"pending\",\n      \"acceptance_criteria\": [\"part {n} is there\"]\n    }}"
                )
            };
            format!(
                "{{\n  \"project\": \"bench\",\n  \"tasks\": [\n{}\n  ]\n}}\n",
                tasks(&task, ",\n")
            )
        }
        "implementation.json" => {
            let task = |n| {
                format!(
                    "        {{\n          \"id\": \"t{n:04}\",\n          \
                     \"description\": \"Do part {n}\",\n          \"status\": \"pending\"\n        }}"
                )
            };
            format!(
                "{{\n  \"version\": 1,\n  \"specs\": [\n    {{\n      \"id\": \"bench\",\n      \
                 \"name\": \"Bench\",\n      \"tasks\": [\n{}\n      ]\n    }}\n  ]\n}}\n",
                tasks(&task, ",\n")
            )
        }
        "progress.md" => {
            let task = |n| format!("- [ ] Do part {n}\n");
            format!(
                "# Progress: Bench\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1\n\n{}",
                tasks(&task, "")
            )
        }
        _ => {
            let task = |n| {
                format!(
                    "{{\"t\":\"task\",\"id\":\"t-{n:04}\",\"spec\":\"bench.md\",\"name\":\"Do part {n}\",\
                     \"s\":\"p\",\"accept\":\"part {n} is there and its test passes\"}}\n"
                )
            };
            format!("{{\"t\":\"spec\",\"spec\":\"bench.md\"}}\n{}", tasks(&task, ""))
        }
    }
}

/// The plan as a landing changes it.
fn one_more_done(plan: &str) -> String {
    let marks = [("\"pending\"", "\"done\""), ("- [ ]", "- [x]"), ("\"s\":\"p\"", "\"s\":\"d\"")];
    let mark = marks.into_iter().find(|(open, _)| plan.contains(open));
    mark.map_or_else(|| plan.to_owned(), |(open, done)| plan.replacen(open, done, 1))
}

fn time(mut command: Command) -> Outcome<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?} ended with {status}").into()) }
}

/// The most memory a process has used so far, where the system tells it.
fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// What the rows say together.
#[derive(Default)]
struct Sums {
    /// The worst ratio of a lane, and of a checkout.
    worst: [f64; 2],
    /// Floor and ralph in a clean tree, in milliseconds.
    clean: Vec<(f64, f64)>,
    memory_kb: u64,
}

impl Sums {
    /// Print the row of a case.
    fn row(&mut self, case: Case, measured: &mut Measured) {
        let (floor, gate) = (median(&mut measured.floor), median(&mut measured.gate));
        let (ralph, start) = (median(&mut measured.ralph), median(&mut measured.start));
        let end = median(&mut measured.end);
        let ratio = ralph / floor;
        let worst = &mut self.worst[usize::from(case.tree == Tree::Checkout)];
        *worst = worst.max(ratio);
        if case.tree == Tree::Clean && case.plan == JSONL {
            self.clean.push((floor, ralph));
        }
        self.memory_kb = self.memory_kb.max(measured.memory_kb);
        println!(
            "| {} | {} | {} | {floor:.2} ms | {:.2} ms | {ralph:.2} ms | {ratio:.2} | {start:.1} ms | \
             {end:.1} ms | {:.1} | {:.1} | {:.1} MB |",
            case.tasks,
            case.plan.trim_start_matches("ralph/"),
            format!("{:?}", case.tree).to_lowercase(),
            floor + gate,
            measured.processes,
            measured.syncs,
            measured.memory_kb as f64 / 1024.0,
        );
    }

    fn print(&self) {
        for ((name, worst), goal) in ["lane", "checkout"].into_iter().zip(self.worst).zip(RATIOS) {
            println!("ratio, {name}: at most {worst:.2}, goal {goal} {}", met(worst <= goal));
        }
        if let [(floor, ralph), .., (last_floor, last_ralph)] = self.clean[..] {
            let growth = last_ralph / ralph;
            println!(
                "growth, largest over smallest plan: {growth:.2} (the floor's own: {:.2}), goal {GROWTH} {}",
                last_floor / floor,
                met(growth <= GROWTH)
            );
        }
        let megabytes = self.memory_kb as f64 / 1024.0;
        println!(
            "peak memory: {megabytes:.1} MB, goal below 20 MB {}",
            met(self.memory_kb < MEMORY_KB)
        );
    }
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// In milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1000.0
}
