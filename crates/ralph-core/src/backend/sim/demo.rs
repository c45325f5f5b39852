//! The projects of `ralph demo` and `ralph tutorial`, which need only a POSIX shell and git, and a
//! scenario that solves both.

/// One file of a project that ralph makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoFile {
    /// Path of the file, relative to the project.
    pub path: &'static str,
    pub text: &'static str,
}

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$( DemoFile {
            path: $path,
            text: include_str!(concat!("../../../assets/", $folder, "/", $path)),
        }, )+]
    };
}

/// The project before any task is done: its tests pass.
pub const FILES: &[DemoFile] = files![
    "demo":
    "calc.sh",
    "test.sh",
    "tests/usage.sh",
    "ralph.toml",
    "ralph/specs/calc.md",
    "ralph/plan.jsonl",
];

/// The project with which the tutorials begin: its tests pass.
pub const TUTORIAL: &[DemoFile] = files!["tutorial": "greet.sh", "test.sh", "Makefile"];

/// The scenario of the sim when nobody gives it one. It solves the demo's tasks, with one gate that
/// fails, one lie and one crash on the way, plans and builds the tutorials' spec, and turns any
/// other task into a file of its own.
pub const SCENARIO: &str = include_str!("../../../assets/demo/scenario.toml");
