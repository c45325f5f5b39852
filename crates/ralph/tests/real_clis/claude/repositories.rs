//! Real repositories, as they were cloned: `ralph init --yes`, then a build with the real claude, while a
//! person edits, stages and commits in home.
//!
//! `RALPH_REAL_REPOSITORIES` is the folder with the clones; docs/reliability.md says how to get them.
//! One that is not there is named and skipped.

use std::env;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::at_home;
use crate::lab::Lab;

/// Variables that package managers need to reach their registries.
const REGISTRIES: [&str; 9] = [
    "HTTPS_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "PIP_CERT",
    "UV_INDEX_URL",
    "NPM_CONFIG_REGISTRY",
    "CARGO_HTTP_CAINFO",
    "RUSTUP_HOME",
];

/// A clone, and the files that are changed in it.
struct Clone {
    folder: &'static str,
    /// Files that the agent adds a line to.
    code: &'static str,
    line: &'static str,
    /// Files of the person, who edits, stages and commits them.
    edited: &'static str,
    staged: &'static str,
    committed: &'static str,
}

/// Waits for the person, and then works.
fn works(command: &str) -> Value {
    let wait = "touch \"$HOME/agent-works\"; while ! [ -e \"$HOME/go\" ]; do sleep 0.05; done";
    json!({ "text": "I look around.", "shell": format!("{wait}; {command}") })
}

fn done(task: &str) -> Value {
    json!({ "answer": {
        "task_completed": { "task_id": task, "summary": "it is there", "fully_complete": true },
        "deviations": [], "bugs_encountered": [], "architectural_notes": [], "unfinished_business": [],
        "recommendations": [], "files_touched": [], "plan_amendments": [], "tests_added": [],
        "constraints_discovered": [], "summary": "it is there",
        "freeform": "What was asked for was not there, so it was written. Nothing is left to do.",
    }})
}

impl Clone {
    fn scenario(&self) -> String {
        let code = format!("printf '%s\\n' '{}' >> {}", self.line, self.code);
        let rule = |task: &str, command: &str| json!({ "has": format!("`{task}`"), "steps": [works(command), done(task)] });
        json!({ "rules": [rule("t-code", &code), rule("t-note", "echo A note. > note-of-ralph.txt")] })
            .to_string()
    }

    /// `None` when the clone is not here.
    fn lab(&self) -> Option<Lab> {
        let from = PathBuf::from(env::var_os("RALPH_REAL_REPOSITORIES")?).join(self.folder);
        if !from.is_dir() {
            return None;
        }
        let mut lab = at_home(Lab::with("claude", &self.scenario()));
        for name in REGISTRIES {
            if let Ok(value) = env::var(name) {
                lab = lab.env(name, &value);
            }
        }
        if let (None, Some(home)) = (env::var_os("RUSTUP_HOME"), env::home_dir()) {
            lab = lab.env("RUSTUP_HOME", &home.join(".rustup").display().to_string());
        }
        let project = &lab.project;
        fs::remove_file(project.path("ralph.toml")).unwrap();
        fs::remove_dir_all(project.path(".git")).unwrap();
        let from = from.display().to_string();
        project.git(["clone", "--quiet", "--no-hardlinks", &from, "."]).ok();
        Some(lab)
    }

    fn build_beside_a_person(&self, prepare: &str) {
        let Some(lab) = self.lab() else {
            eprintln!("skipped: {}: it is not in RALPH_REAL_REPOSITORIES", self.folder);
            return;
        };
        let project = &lab.project;
        project.shell(prepare).ok();
        let init = project.run(["init", "--yes"]).ok();
        println!("{}{}\n{}", init.stdout, init.stderr, project.read("ralph.toml"));
        // One of these repositories checks the subjects of commits.
        let config = project.read("ralph.toml");
        project.write("ralph.toml", format!("commit_prefix = \"chore(ralph)\"\n{config}"));
        for name in ["t-code", "t-note"] {
            let task = json!({"t": "task", "id": name, "name": format!("Do {name}"), "s": "p"});
            let plan = fs::read_to_string(project.path("ralph/plan.jsonl")).unwrap_or_default();
            project.write("ralph/plan.jsonl", format!("{plan}{task}\n"));
        }
        project.git(["add", "ralph", "ralph.toml", ".gitignore"]).ok();
        project.git(["commit", "--quiet", "-m", "docs: a plan"]).ok();
        let run = project.spawn(["build"]);
        until_or_end(&run, || project.home().join("agent-works").exists());
        let change = |path: &str| project.write(path, project.read(path) + "\nMine.\n");
        [self.edited, self.staged, self.committed].into_iter().for_each(change);
        project.git(["add", self.staged]).ok();
        project.git(["commit", "--quiet", "-m", "docs: mine", "--", self.committed]).ok();
        project.write("mine.txt", "not tracked\n");
        project.write(project.home().join("go"), "");
        let run = run.wait();
        println!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert!(lab.left().is_empty(), "{:?}", lab.left());
        self.everything_is_where_it_belongs(&lab);
    }

    fn everything_is_where_it_belongs(&self, lab: &Lab) {
        let project = &lab.project;
        let status = project.git(["status", "--porcelain"]).ok().stdout;
        let mine = format!(" M {}\nM  {}\n?? mine.txt\n", self.edited, self.staged);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&status), sorted(&mine));
        for path in [self.edited, self.staged, self.committed] {
            assert!(project.read(path).ends_with("\nMine.\n"), "{path}");
        }
        let log = project.git(["log", "--format=%s", "-5"]).ok().stdout;
        println!("{log}");
        let count = |part: &str| log.lines().filter(|line| line.contains(part)).count();
        assert_eq!((count("t-code"), count("t-note"), count("mine")), (1, 1, 1), "{log}");
        assert!(project.read(self.code).ends_with(&format!("{}\n", self.line)));
        assert_eq!(project.read("note-of-ralph.txt"), "A note.\n");
        let landed = project.git(["log", "--format=", "--name-only", "--grep=Ralph-Task"]).ok();
        for path in [self.edited, self.staged, self.committed, "mine.txt"] {
            assert!(!landed.stdout.lines().any(|line| line == path), "{}", landed.stdout);
        }
    }
}

/// Wait for something that a run does, which may take as long as compiling a repository.
fn until_or_end(run: &ralph_testkit::Running, so: impl Fn() -> bool) {
    while !so() && fs::exists(format!("/proc/{}/exe", run.pid())).unwrap_or(false) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_rust_workspace_is_built_beside_a_person() {
    let anstyle = Clone {
        folder: "anstyle",
        code: "crates/anstyle/src/lib.rs",
        line: "// Checked.",
        edited: "crates/anstyle/README.md",
        staged: "CONTRIBUTING.md",
        committed: "README.md",
    };
    anstyle.build_beside_a_person("cargo fetch --locked");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_rust_workspace_without_a_lock_file_is_built_beside_a_person() {
    let xshell = Clone {
        folder: "xshell",
        code: "xshell-macros/src/lib.rs",
        line: "// Checked.",
        edited: "examples/timeout.rs",
        staged: "CHANGELOG.md",
        committed: "README.md",
    };
    xshell.build_beside_a_person("cargo generate-lockfile");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_pnpm_monorepo_is_built_beside_a_person() {
    let tinyhttp = Clone {
        folder: "tinyhttp",
        code: "packages/app/src/index.ts",
        line: "// Checked.",
        edited: "packages/app/README.md",
        staged: "CONTRIBUTING.md",
        committed: "README.md",
    };
    tinyhttp.build_beside_a_person("pnpm install --frozen-lockfile");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_python_package_with_uv_is_built_beside_a_person() {
    let itsdangerous = Clone {
        folder: "itsdangerous",
        code: "src/itsdangerous/exc.py",
        line: "# Checked.",
        edited: "docs/index.rst",
        staged: "CHANGES.rst",
        committed: "README.md",
    };
    itsdangerous.build_beside_a_person("uv sync");
}
