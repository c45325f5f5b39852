//! The keys that take one of a few words, and the words.

use super::setting::{Setting, setting};
use super::value::{Kind, Value};
use crate::word_enum::word_enum;

macro_rules! words {
    ($( $(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:tt, )+ } )+) => { $(
        word_enum! { $(#[$meta])* $name { $( $(#[$vmeta])* $variant = $word, )+ } }

        setting!($name, Kind::Word(Self::WORDS),
            Value::Text(word) => Self::from_word(word), |this| Value::Text(this.as_str().to_owned()));
    )+ };
}

words! {
    /// What a prompt remembers of earlier attempts.
    Mode {
        /// The last handoff.
        HandoffOnly = "handoff-only",
        /// The last handoff and the knowledge index.
        HandoffPlusIndex = "handoff-plus-index",
        /// Whatever a context agent prepares.
        AgentOrchestrated = "agent-orchestrated",
    }

    /// What one commit on the user's branch holds.
    CommitScope {
        /// One task.
        Task = "task",
        /// One whole spec.
        Spec = "spec",
    }

    /// When ralph's own files are committed.
    CommitLedger {
        /// With each landed task, and what is left at the end.
        WithTask = "with-task",
        /// Only at the end of a run.
        AtEnd = "at-end",
        /// Never: they stay uncommitted.
        Never = "never",
    }

    /// What to do with uncommitted changes at the start.
    OnDirty {
        /// Leave them as they are; agents work from the last commit.
        Leave = "leave",
        /// Commit them first.
        Commit = "commit",
        /// Do not start.
        Refuse = "refuse",
    }

    /// Where attempts work.
    Workspace {
        /// In a checkout of ralph's own; commits arrive in yours.
        Lane = "lane",
        /// In the checkout where ralph was started.
        Checkout = "checkout",
    }

    /// Which gates must be green.
    GateStrategy {
        /// All.
        Strict = "strict",
        /// Tests; lint failures are only shown.
        Lenient = "lenient",
        /// Tests; lint gates do not run.
        TestsOnly = "tests_only",
    }

    /// What a gate checks.
    #[derive(Default)]
    GateKind {
        /// Behaviour.
        #[default]
        Test = "test",
        /// Style.
        Lint = "lint",
    }

    /// What happens to a change of tests, manifests or CI files.
    Judges {
        /// It is named in the verdict.
        List = "list",
        /// It fails the attempt.
        Block = "block",
    }

    /// What a run whose work no gate proves ends as.
    UnprovenPolicy {
        /// Exit code 3 and a need.
        Stop = "stop",
        /// Complete.
        Allow = "allow",
    }

    /// How much is logged.
    LogLevel {
        /// Everything.
        Debug = "debug",
        /// What happens.
        Info = "info",
        /// What may be wrong.
        Warn = "warn",
        /// What is wrong.
        Error = "error",
    }

    /// How ralph talks to a backend program.
    BackendKind {
        /// Claude Code.
        Claude = "claude",
        /// OpenAI Codex.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// opencode.
        Opencode = "opencode",
        /// Any agent that speaks the Agent Client Protocol.
        Acp = "acp",
        /// Any other program.
        Command = "command",
        /// The deterministic agent inside ralph.
        Sim = "sim",
    }

    /// What a command backend does to say that a task is done.
    Claim {
        /// It prints `<TASK_DONE>`.
        Marker = "marker",
        /// It exits with code 0.
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

    /// What happens to the changes of a spec that failed in agent mode.
    OnFailure {
        /// They become a stash entry.
        Stash = "stash",
        /// They go away (a salvage ref keeps them for a while).
        Reset = "reset",
    }

    /// What gets a branch of its own in agent mode.
    BranchFor {
        /// Nothing: commits go to the branch that is checked out.
        None = "none",
        /// Each spec.
        Spec = "spec",
    }

    /// How a notification is sent.
    NotifyKind {
        /// On the desktop.
        Desktop = "desktop",
        /// By a shell command.
        Command = "command",
        /// As JSON to a URL.
        Webhook = "webhook",
        /// To a Slack webhook.
        Slack = "slack",
        /// To a Discord webhook.
        Discord = "discord",
        /// To a Telegram bot.
        Telegram = "telegram",
        /// To an ntfy topic.
        Ntfy = "ntfy",
    }

    /// What a notification tells.
    NotifyOn {
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

setting!(Vec<NotifyOn>, Kind::Words(NotifyOn::WORDS),
    Value::List(words) => words.iter().map(|word| NotifyOn::from_word(word)).collect(),
    |this| Value::List(this.iter().map(|on| on.as_str().to_owned()).collect()));

/// What a gate most likely checks. Whatever is not known to be a linter counts as a test, which is
/// the stricter guess.
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
