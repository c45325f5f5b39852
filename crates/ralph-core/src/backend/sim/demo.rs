//! The demo: a tiny project that needs only a POSIX shell and git, and a scenario that solves it.

/// One file of the demo project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoFile {
    /// Where it goes.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$( DemoFile {
            path: $path,
            text: include_str!(concat!("../../../assets/demo/", $path)),
        }, )+]
    };
}

/// The project before any task is done: its tests pass.
pub const FILES: &[DemoFile] = files![
    "calc.sh",
    "test.sh",
    "tests/usage.sh",
    "ralph.toml",
    "ralph/specs/calc.md",
    "ralph/plan.jsonl",
];

/// What the sim does when nothing else is said. It solves the demo's tasks, with one gate that
/// fails, one lie and one crash on the way, and turns any other task into a file of its own.
pub const SCENARIO: &str = include_str!("../../../assets/demo/scenario.toml");
