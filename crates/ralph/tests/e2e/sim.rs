//! `ralph __sim`, the simulated backend, as the process that it is.

mod demo;
mod docs;
mod faults;
mod strays;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use ralph_core::backend::sim::SimDriver;
use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendExit, BackendOutcome, BackendReader, BackendRequest,
    ProcessEnding, StopCause,
};
use ralph_testkit::{NOW, TestProject, project};

/// A prompt about the task `t-demo`.
const PROMPT: &str = "## Current Task\n\n**ID**: t-demo\n**Title**: Say hello\n";

/// A project with a repository, and the sim in it.
struct Stage {
    project: TestProject,
    /// In the environment of every process that is started here.
    mark: String,
}

/// What one run left.
struct Seen {
    stdout: Vec<u8>,
    stderr: String,
    status: ExitStatus,
}

impl Stage {
    fn new() -> Self {
        let project = project!().git_init();
        let mark = project.root().display().to_string();
        Self { project, mark }
    }

    /// Start the sim with a scenario.
    fn start(&self, scenario: &str, args: &[&str], prompt: &str) -> Child {
        let file = self.project.home().join("scenario.toml");
        fs::write(&file, scenario).unwrap();
        let mut command = self.command(args);
        command.env("RALPH_SIM", file);
        feed(&mut command, prompt)
    }

    /// The sim with its built-in scenario, before it runs.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
        command.arg("__sim").args(args).current_dir(self.project.root()).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.project.home())
            .env("RALPH_NOW", NOW)
            .env("RALPH_RUN", &self.mark)
            .env("RALPH_SIM_STATE", self.project.home().join("state"))
            .env("GIT_AUTHOR_NAME", "Sim")
            .env("GIT_AUTHOR_EMAIL", "sim@example.com")
            .env("GIT_COMMITTER_NAME", "Sim")
            .env("GIT_COMMITTER_EMAIL", "sim@example.com");
        command
    }

    /// Run it to its end.
    fn run(&self, scenario: &str) -> Seen {
        self.run_with(scenario, &[], PROMPT)
    }

    fn run_with(&self, scenario: &str, args: &[&str], prompt: &str) -> Seen {
        seen(self.start(scenario, args, prompt))
    }

    /// Run it until all of these lines were printed, in this order, and kill it then.
    fn run_until(&self, scenario: &str, lines: &[&str]) -> Seen {
        let mut child = self.start(scenario, &[], PROMPT);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut stdout = Vec::new();
        let mut wanted = lines.iter();
        let mut next = wanted.next();
        while let Some(line) = next {
            let start = stdout.len();
            let more = out.read_until(b'\n', &mut stdout).unwrap();
            assert_ne!(more, 0, "it ended before {line}");
            if stdout[start..].trim_ascii_end() == line.as_bytes() {
                next = wanted.next();
            }
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        Seen { stdout, stderr: String::new(), status }
    }
}

/// Start a command and write this to its standard input.
fn feed(command: &mut Command, text: &str) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that refuses its arguments does not wait for the prompt.
    let _it_did_not_want_to_know = child.stdin.take().unwrap().write_all(text.as_bytes());
    child
}

fn seen(child: Child) -> Seen {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    Seen { stdout: output.stdout, stderr, status: output.status }
}

impl Seen {
    fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.stdout).lines().map(str::to_owned).collect()
    }

    fn exit(&self, stopped: Option<StopCause>) -> BackendExit {
        let ending = match self.status.code() {
            Some(code) => ProcessEnding::Code(code),
            None => ProcessEnding::Signal(self.status.signal().unwrap()),
        };
        BackendExit { ending, stopped }
    }

    /// What the driver says about it.
    fn judged(
        &self,
        stopped: Option<StopCause>,
    ) -> (BackendOutcome, Vec<BackendEvent>, Box<dyn BackendReader>) {
        let mut reader = SimDriver.reader(&request());
        let mut events = Vec::new();
        for line in self.stdout.split(|byte| *byte == b'\n') {
            reader.line(line, &mut events);
        }
        let outcome = reader.outcome(&self.exit(stopped), &self.stderr);
        (outcome, events, reader)
    }

    fn outcome(&self) -> BackendOutcome {
        self.judged(None).0
    }
}

fn request() -> BackendRequest<'static> {
    BackendRequest { scratch: "/nowhere", ..BackendRequest::plain(PROMPT) }
}

#[test]
fn a_run_edits_files_and_reports_what_it_used() {
    let stage = Stage::new();
    stage.project.write("old.txt", "one two two\n");
    let seen = stage.run(
        "[[rule]]\nsteps = [\n\
         { write = 'dir/new.sh', text = \"echo {task}\\n\", mode = '755' },\n\
         { append = 'dir/new.sh', text = 'exit 0' },\n\
         { patch = 'old.txt', find = 'two', with = '2' },\n\
         { patch = 'old.txt', find = 'three', with = '3' },\n\
         { run = 'sh dir/new.sh && rm dir/new.sh' },\n\
         { usage = { input = 10, output = 2 } }, { cost = 0.5 }, { context = 50 },\n\
         { claim = 'done' },\n]",
    );
    let (outcome, events, reader) = seen.judged(None);
    assert_eq!(outcome, BackendOutcome::Success, "{:?}", seen.lines());
    assert_eq!(stage.project.read("old.txt"), "one 2 two\n");
    assert!(!stage.project.exists("dir/new.sh"));
    let results: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            BackendEvent::ToolResult { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let missing = "the text to replace is not there";
    assert_eq!(results, ["done", "done", "done", missing, "t-demo\n"]);
    let spent = reader.spent();
    assert_eq!((spent.cost, spent.input, spent.turns), (Some(0.5), Some(10), Some(6)));
    assert!(reader.answer().ends_with("<TASK_DONE>"), "{}", reader.answer());
}

#[test]
fn a_bad_scenario_is_named_with_its_line_and_nothing_is_printed() {
    let stage = Stage::new();
    let seen = stage.run("[[rule]]\nsteps = [{ wrte = 'a' }]");
    assert_eq!(seen.status.code(), Some(2));
    assert!(seen.stdout.is_empty());
    let end = "scenario.toml, line 2: `wrte` is unknown; did you mean `write`?\n";
    assert!(seen.stderr.ends_with(end), "{}", seen.stderr);
    assert_eq!(seen.outcome().word(), "crash");
    let seen = seen_of(&mut stage.command(&["--wat"]));
    assert_eq!(
        (seen.status.code(), seen.stderr.as_str()),
        (Some(2), "sim: unknown argument \"--wat\"\n")
    );
}

fn seen_of(command: &mut Command) -> Seen {
    seen(feed(command, PROMPT))
}

#[test]
fn a_system_prompt_counts_for_the_choice_of_the_rule() {
    let stage = Stage::new();
    stage.project.write("system.txt", "You are the VERIFY role.");
    let scenario = "[[rule]]\nwhen = 'VERIFY'\nsteps = [{ answer = { verdict = 'accept' } }]";
    let seen = stage.run_with(scenario, &["--system", "system.txt", "--structured"], PROMPT);
    let (_, _, reader) = seen.judged(None);
    assert_eq!(reader.structured(), Some(&serde_json::json!({ "verdict": "accept" })));
}

#[test]
fn a_session_can_be_continued_and_compacted() {
    let stage = Stage::new();
    let seen = stage.run_with("", &["--resume", "sim-abc"], "/compact keep the plan");
    let (outcome, events, reader) = seen.judged(None);
    assert_eq!(outcome, BackendOutcome::Success);
    assert_eq!(reader.session(), Some("sim-abc"));
    assert!(
        events.iter().any(|event| matches!(event, BackendEvent::Compacted { .. })),
        "{events:?}"
    );
}

#[test]
fn attempts_are_counted_in_the_git_directory_when_nothing_else_is_said() {
    let stage = Stage::new();
    let scenario =
        "[[rule]]\nsteps = [{ append = 'n.txt', text = '{attempt}' }, { signal = 'kill' }]";
    let file = stage.project.home().join("s.toml");
    fs::write(&file, scenario).unwrap();
    for _ in 0..3 {
        let mut command = stage.command(&["--scenario", file.to_str().unwrap()]);
        let seen = seen_of(command.env_remove("RALPH_SIM_STATE"));
        assert_eq!(seen.status.signal(), Some(9));
    }
    assert_eq!(stage.project.read("n.txt"), "123");
    assert_eq!(fs::read_dir(stage.project.path(".git/ralph/sim")).unwrap().count(), 1);
}
