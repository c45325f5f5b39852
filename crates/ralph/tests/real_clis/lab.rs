//! One program, one project, one model server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ralph_model::{Scenario, Server};
use ralph_testkit::{Run, TestProject, project};
use serde_json::{Value, json};

const SCENARIO: &str = include_str!("scenario.json");

/// When the limit of the scenario is lifted.
pub(crate) const RESETS_AT: i64 = 1_900_000_000;

/// A program to try.
pub(crate) struct Lab {
    name: &'static str,
    pub(crate) project: TestProject,
    pub(crate) server: Server,
}

/// One `ralph backends try`.
pub(crate) struct Tried {
    pub(crate) run: Run,
    pub(crate) report: Value,
}

impl Lab {
    /// A project in which the program called `name` would talk to a server of its own.
    pub(crate) fn new(name: &'static str) -> Self {
        Self::with(name, SCENARIO)
    }

    /// The same with a scenario of the test's own.
    pub(crate) fn with(name: &'static str, scenario: &str) -> Self {
        let bin = programs().join("bin");
        assert!(bin.join(name).exists(), "{name} is not in {}: {HOW}", bin.display());
        let server = Server::start(Scenario::parse(scenario).unwrap()).unwrap();
        let path = env::var("PATH").unwrap_or_default();
        let project = project!()
            .git_init()
            .real_time()
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("NO_PROXY", "127.0.0.1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_AUTOUPDATER", "1");
        let home = project.home().to_owned();
        Self { name, project: project.env("TMPDIR", home), server }
    }

    /// Where the program is installed.
    pub(crate) fn program(&self) -> String {
        programs().join("bin").join(self.name).display().to_string()
    }

    /// Set a variable that the program will see.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.project = self.project.env(name, value);
        self
    }

    /// Write ralph's configuration.
    pub(crate) fn config(self, text: &str) -> Self {
        self.project.write("ralph.toml", text);
        self
    }

    /// Give the program ralph's own tools.
    pub(crate) fn with_tools(self) -> Self {
        let config = self.project.read("ralph.toml");
        self.config(&format!("mcp_tools = true\n{config}"))
    }

    /// Write a file of the program's own configuration.
    pub(crate) fn home_file(self, path: &str, value: &Value) -> Self {
        self.project.write(self.project.home().join(path), value.to_string());
        self
    }

    /// Let ralph try the program. Whatever comes of it, no process is left.
    #[track_caller]
    pub(crate) fn try_prompt(&self, prompt: &str) -> Tried {
        self.try_with(prompt, &[])
    }

    /// The same with more options.
    #[track_caller]
    pub(crate) fn try_with(&self, prompt: &str, options: &[&str]) -> Tried {
        let args = ["backends", "try", self.name, prompt, "--json"];
        let run = self.project.run(args.iter().chain(options));
        let left = self.left();
        assert!(left.is_empty(), "left after {prompt}: {left:?}\n{}", run.stderr);
        let report = run.json();
        assert_eq!(report["backend"], self.name, "{report:#}");
        Tried { run, report }
    }

    /// Let ralph build a plan of this task, which is to make a file.
    #[track_caller]
    pub(crate) fn build(&self, task: &str) {
        let project = &self.project;
        let gate = "\n[[gates]]\nname = \"made\"\ncommand = \"test -f made.txt\"\n";
        project.write("ralph.toml", project.read("ralph.toml") + gate);
        project.write(".gitignore", ".ralph/\nbuild/\n");
        let task = json!({"t": "task", "id": task, "name": "Make a file", "s": "p"});
        project.write("ralph/plan.jsonl", format!("{task}\n"));
        project.git(["add", "-A"]).ok();
        project.git(["commit", "--quiet", "-m", "start"]).ok();
        let run = project.run(["build", "--backend", self.name]).ok();
        assert!(self.left().is_empty(), "{}", run.stdout);
        assert_eq!(project.read("made.txt"), "made\n");
    }

    /// The model is offered ralph's own tools, whatever the program calls them.
    #[track_caller]
    pub(crate) fn offered_ralphs_tools(&self) {
        let told = "Claim that the task of this attempt is complete";
        let asked = self.server.requests();
        assert!(asked.iter().any(|r| r.body.to_string().contains(told)), "they were not offered");
    }

    /// A task of a plan that one of ralph's own tools brings to its end, with an answer that says
    /// nothing. The result of the tool came back to the model.
    #[track_caller]
    pub(crate) fn lands_by_a_tool(&self, task: &str) {
        self.build(task);
        assert!(self.project.read("ralph/plan.jsonl").contains("\"accept\""));
        let told = format!("\\\"id\\\":\\\"{task}\\\"");
        let asked = self.server.requests();
        let answered = |body: &Value| body.to_string().replace("\\\\", "").contains(&told);
        assert!(asked.iter().any(|r| answered(&r.body)), "the tool did not answer");
    }

    /// A task of a plan: the program does it, ralph runs the gate and commits.
    #[track_caller]
    pub(crate) fn builds_a_task(&self) {
        self.build("t-made");
        let project = &self.project;
        let log = project.git(["log", "--format=%s", "--name-only"]).ok().stdout;
        assert!(log.starts_with("ralph[1]: t-made — made.txt is there\n"), "{log}");
        assert!(log.contains("made.txt") && project.read("ralph/plan.jsonl").contains("accept"));
        let asked = self.server.requests();
        assert!(asked.iter().any(|r| r.body.to_string().contains("## Output Instructions")));
    }

    /// Processes that outlive the run. Those that are on their way out get the time for it.
    pub(crate) fn left(&self) -> Vec<String> {
        for _ in 0..100 {
            if processes_with(self.project.home()).is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        processes_with(self.project.home())
    }

    /// The program makes a file with its own tool and copies it with its shell.
    #[track_caller]
    pub(crate) fn makes_a_file(&self, tools: [&str; 2]) -> Tried {
        let tried = self.try_prompt("CREATE hello.txt").ends("success");
        for file in ["hello.txt", "hello.txt.copy"] {
            assert_eq!(self.project.read(file), "hello from the model\n", "{file}");
        }
        assert_eq!(tried.report["answer"], "hello.txt is there.", "{:#}", tried.report);
        let tokens = json!({"input": 9112, "cached": 6100, "output": 79});
        assert_eq!(tried.report["tokens"], tokens, "{:#}", tried.report);
        for tool in tools {
            assert!(tried.run.stderr.contains(tool), "no {tool} in\n{}", tried.run.stderr);
        }
        let requests = self.server.requests();
        let steps: Vec<usize> = requests
            .iter()
            // A title for the session is asked for without tools; that is no step of the work.
            .filter(|r| r.rule.as_deref() == Some("CREATE") && offers_tools(&r.body))
            .map(|r| r.step)
            .collect();
        assert_eq!(steps, [0, 1, 2], "the tools' results came back to the model");
        tried
    }

    /// The limit of the account, with the time of its reset where the program tells it.
    #[track_caller]
    pub(crate) fn meets_the_limit(&self, resets_at: Option<i64>) {
        let tried = self.try_prompt("LIMIT").ends("rate_limit");
        assert_eq!(tried.report["resets_at"], json!(resets_at), "{:#}", tried.report);
    }
}

impl Tried {
    /// It ended with this outcome; the exit code and the advice fit it.
    #[track_caller]
    pub(crate) fn ends(self, outcome: &str) -> Self {
        assert_eq!(self.report["outcome"], outcome, "{:#}\n{}", self.report, self.run.stderr);
        let (code, advised) = if outcome == "success" { (0, false) } else { (3, true) };
        assert_eq!(self.report["advice"].is_string(), advised, "{:#}", self.report);
        Self { run: self.run.fails(code), report: self.report }
    }

    /// What it cost, to a hundredth of a cent.
    #[track_caller]
    pub(crate) fn costs(&self, dollars: f64) {
        let cost = self.report["cost"].as_f64();
        let close = cost.is_some_and(|cost| (cost - dollars).abs() < 0.0001);
        assert!(close, "{cost:?} is not {dollars}: {:#}", self.report);
    }
}

const HOW: &str = "run scripts/real-clis.sh, which installs it and sets RALPH_REAL_CLIS";

fn programs() -> PathBuf {
    match env::var_os("RALPH_REAL_CLIS") {
        Some(dir) => dir.into(),
        None => panic!("this test needs the real agent programs: {HOW}"),
    }
}

fn offers_tools(body: &Value) -> bool {
    let listed = |tools: &Value| tools.as_array().is_some_and(|tools| !tools.is_empty());
    let inputs = body["input"].as_array().into_iter().flatten();
    listed(&body["tools"]) || inputs.into_iter().any(|item| listed(&item["tools"]))
}

/// Processes whose environment says that they live in this home.
fn processes_with(home: &Path) -> Vec<String> {
    let mark = format!("HOME={}", home.display());
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(|dir| {
        let environment = fs::read(dir.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    })
    .map(|dir| {
        let line = fs::read(dir.join("cmdline")).unwrap_or_default();
        format!("{}: {}", dir.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    })
    .collect()
}

#[test]
fn the_search_for_what_is_left_finds_a_process_and_its_end() {
    let project = TestProject::new("sleep");
    let running = project.spawn(["60"]);
    let seen = processes_with(project.home());
    running.kill();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(processes_with(project.home()), [""; 0]);
}
