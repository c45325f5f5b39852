//! A small repository with a plan, gates and a simulated backend.

use ralph_testkit::{TestProject, project};

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

/// A person's command in another terminal, while the backend works.
pub(crate) fn person(command: &str) -> String {
    format!("{{ run = \"env -u RALPH_ATTEMPT -u RALPH_TASK $BIN {command}\" }},")
}
