//! The keys that take one of a few words, and the words.

use super::setting::{SettingType, setting};
use super::value::{ConfigValue, ValueKind};
use crate::word_enum::word_enum;

macro_rules! words {
    ($( $(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:tt, )+ } )+) => { $(
        word_enum! { $(#[$meta])* $name { $( $(#[$vmeta])* $variant = $word, )+ } }

        setting!($name, ValueKind::Word(Self::WORDS),
            ConfigValue::Text(word) => Self::from_word(word), |this| ConfigValue::Text(this.as_str().to_owned()));
    )+ };
}

words! {
    /// Memory of earlier attempts in a prompt.
    MemoryMode {
        HandoffOnly = "handoff-only",
        /// The last handoff and the knowledge index.
        HandoffPlusIndex = "handoff-plus-index",
        /// A text that a context agent prepares.
        AgentOrchestrated = "agent-orchestrated",
    }

    /// Content of one commit on the user's branch.
    CommitScope {
        Task = "task",
        Spec = "spec",
    }

    /// When ralph's own files are committed.
    LedgerCommitPolicy {
        /// With each landed task, and what is left at the end.
        WithTask = "with-task",
        /// Only at the end of a run.
        AtEnd = "at-end",
        Never = "never",
    }

    /// Action on uncommitted changes at the start of a run.
    DirtyPolicy {
        /// Leave them as they are; agents work from the last commit.
        Leave = "leave",
        /// Commit the changes before the run starts.
        Commit = "commit",
        /// Do not start the run.
        Refuse = "refuse",
    }

    /// Checkout in which attempts work: a lane or the user's own.
    Workspace {
        /// In a checkout of ralph's own; commits arrive in yours.
        Lane = "lane",
        /// In the checkout where ralph was started.
        Checkout = "checkout",
    }

    /// Gates that must be green for an attempt to land.
    GateStrategy {
        /// All gates must be green.
        Strict = "strict",
        /// Tests; lint failures are only shown.
        Lenient = "lenient",
        /// Tests; lint gates do not run.
        TestsOnly = "tests_only",
    }

    /// Kind of a gate: a test of behaviour or a check of style.
    #[derive(Default)]
    GateKind {
        #[default]
        Test = "test",
        Lint = "lint",
    }

    /// Reaction to a change of tests, manifests or CI files.
    JudgePolicy {
        /// The verdict names the changed files.
        List = "list",
        /// The attempt fails.
        Block = "block",
    }

    /// End of a run whose landed work no gate proves.
    UnprovenPolicy {
        /// Exit code 3 and a need.
        Stop = "stop",
        /// The run ends as complete.
        Allow = "allow",
    }

    /// Level of detail in the log.
    LogLevel {
        Debug = "debug",
        Info = "info",
        Warn = "warn",
        Error = "error",
    }

    /// Kind of a backend program. It decides how ralph runs the program and reads its output.
    BackendKind {
        Claude = "claude",
        Codex = "codex",
        Gemini = "gemini",
        Opencode = "opencode",
        /// Any agent that speaks the Agent Client Protocol.
        Acp = "acp",
        /// Any other program, described by a template.
        Command = "command",
        /// The deterministic agent that is built into ralph.
        Sim = "sim",
    }

    /// Way in which a command backend claims that a task is done.
    CommandClaim {
        /// The program prints `<TASK_DONE>`.
        Marker = "marker",
        /// The program exits with code 0.
        Exit = "exit",
    }

    /// The roles in which a backend is called.
    StageName {
        /// A spec becomes tasks.
        Plan = "plan",
        /// An issue becomes tasks.
        Investigate = "investigate",
        /// A task becomes code.
        Build = "build",
        /// Code is compared with its task and spec.
        Verify = "verify",
        /// Killed work becomes smaller tasks.
        Decompose = "decompose",
        /// A prompt is prepared, a result is digested.
        Context = "context",
        /// The knowledge index is brought up to date.
        Index = "index",
        /// An agent pass looks at the result.
        Review = "review",
    }

    /// Action on the changes of a spec that failed in agent mode.
    FailurePolicy {
        /// The changes become a stash entry.
        Stash = "stash",
        /// The changes are removed. A salvage ref keeps them for a while.
        Reset = "reset",
    }

    /// Branch on which commits arrive: the checked-out one, or one for each spec.
    BranchPolicy {
        /// Nothing: commits go to the branch that is checked out.
        None = "none",
        /// Each spec has a branch of its own.
        Spec = "spec",
    }

    /// Way in which a notification is sent.
    NotifyKind {
        Desktop = "desktop",
        Command = "command",
        /// JSON is sent to a URL.
        Webhook = "webhook",
        Slack = "slack",
        Discord = "discord",
        Telegram = "telegram",
        Ntfy = "ntfy",
    }

    /// Event that a notification reports.
    NotifyEvent {
        /// A spec is done.
        Done = "done",
        /// A spec failed.
        Failed = "failed",
        /// Something waits for a person.
        Blocked = "blocked",
        /// A budget or a limit was reached.
        Limit = "limit",
        /// The agent loop stopped.
        Stopped = "stopped",
    }
}

impl BackendKind {
    /// The kinds whose own name is a backend without any configuration.
    pub const BUILT_IN: [Self; 5] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Sim];

    /// The kind of a backend that nothing but its name describes.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::BUILT_IN.into_iter().find(|kind| kind.as_str() == name)
    }
}

setting!(Vec<NotifyEvent>, ValueKind::Words(NotifyEvent::WORDS),
    ConfigValue::List(words) => words.iter().map(|word| NotifyEvent::from_word(word)).collect(),
    |this| ConfigValue::List(this.iter().map(|on| on.as_str().to_owned()).collect()));

/// Guess the kind of a gate from its command.
/// A command without a known linter counts as a test, which is the stricter guess.
pub fn gate_kind(command: &str) -> GateKind {
    const LINTERS: [&str; 6] = ["shellcheck", "lint", "eslint", "flake8", "pylint", "stylelint"];
    if LINTERS.iter().any(|linter| command.contains(linter)) {
        GateKind::Lint
    } else {
        GateKind::Test
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_without_a_kind_are_guessed_and_unknown_commands_are_tests() {
        for lint in [
            "shellcheck *.sh",
            "npm run lint",
            "npx eslint .",
            "flake8",
            "pylint x",
            "golangci-lint run",
        ] {
            assert_eq!(gate_kind(lint), GateKind::Lint, "{lint}");
        }
        for test in
            ["bats tests/", "pytest", "cargo test", "npx jest", "mocha", "rspec", "make check", ""]
        {
            assert_eq!(gate_kind(test), GateKind::Test, "{test}");
        }
    }
}
