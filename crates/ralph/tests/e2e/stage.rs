//! A small repository with a plan, gates and a simulated backend.

use ralph_testkit::{Run, TestProject, project, until};

/// Two tasks; the second one waits for the first.
pub(crate) const PLAN: &str = "\
{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"First\",\"s\":\"p\"}
{\"t\":\"task\",\"id\":\"t-bbbb\",\"name\":\"Second\",\"s\":\"p\",\"deps\":[\"t-aaaa\"]}
";

/// The repository, with this scenario for the backend. `$BIN` is ralph.
pub(crate) fn stage(scenario: &str) -> TestProject {
    let p = project!()
        .git_init()
        .file(".gitignore", "/.ralph/\n/build/\n")
        .file("one.txt", "one\n")
        .file("ralph/plan.jsonl", PLAN)
        .file(
            "ralph.toml",
            "backend = \"sim\"\nmax_retries = 0\n\n\
             [[gates]]\nname = \"check\"\ncommand = \"test ! -e bad.txt\"\n",
        )
        .env("BIN", env!("CARGO_BIN_EXE_ralph"));
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-q", "-m", "first"]).ok();
    let path = p.home().join("scenario.toml");
    std::fs::write(&path, scenario).unwrap();
    p.env("RALPH_SIM", &path)
}

/// A scenario with one rule of these steps.
pub(crate) fn steps(steps: &str) -> String {
    format!("[[rule]]\nsteps = [{steps}]\n")
}

/// The backend says that it is there, and waits until it may go on.
pub(crate) const WAITS: &str =
    "{ run = \"touch $HOME/there; while [ ! -e $HOME/go ]; do sleep 0.02; done\" },";

/// `ralph build --once`, with what a person does in another terminal while the backend waits.
pub(crate) fn build_beside(p: &TestProject, person: impl FnOnce()) -> Run {
    let run = p.spawn(["build", "--once"]);
    until(|| p.home().join("there").exists());
    person();
    std::fs::write(p.home().join("go"), "").unwrap();
    run.wait()
}
