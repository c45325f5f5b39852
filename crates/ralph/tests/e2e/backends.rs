//! `ralph backends`: what is installed, and one backend tried alone.

mod faults;
mod list;
mod trial;

use std::fs;

use ralph_testkit::{TestProject, project};

/// A project whose `PATH` has nothing but these programs, shell scripts each.
fn machine<const N: usize>(programs: [(&str, &str); N]) -> TestProject {
    let project = project!().git_init();
    for (name, script) in programs {
        let path = project.path("bin").join(name);
        project.write(&path, format!("#!/bin/sh\n{script}\n"));
        project.mode(&path, 0o755);
    }
    let bin = project.path("bin");
    project.dir("bin").env("PATH", bin)
}

/// A project with the usual `PATH`, in which sim follows this scenario.
fn sim(scenario: &str) -> TestProject {
    let project = project!().git_init();
    let file = project.home().join("scenario.toml");
    project.write(&file, scenario);
    project.env("RALPH_SIM", file)
}

/// What a codex says that does what it is asked.
const CODEX: &str = r#"cat >/dev/null
echo '{"type":"thread.started","thread_id":"01a1"}'
echo '{"type":"item.completed","item":{"id":"0","type":"file_change","changes":[{"path":"'$PWD'/a.txt","kind":"add"}],"status":"completed"}}'
echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Here you are."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":100000}}'"#;

/// The programs of `machine` may use these.
fn with_tools(project: TestProject) -> TestProject {
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    project.env("PATH", path)
}

/// Processes that still live in the home of this project. Finds none where there is no `/proc`.
fn left(project: &TestProject) -> usize {
    let mark = format!("HOME={}", project.home().display());
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter(|entry| {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
    })
    .count()
}
