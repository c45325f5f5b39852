//! Facts about single agents that the protocol leaves open. All of them were measured.

/// Scope of the token counts in the answer to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenScope {
    Turn,
    /// The whole session so far, which is also what the schema's text says.
    Session,
    /// Only the last call to the model, which is less than was used.
    LastStep,
}

/// Sign of a failed turn that an agent otherwise ends like a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureSign {
    /// The agent gives no sign, or it answers the prompt with an error as it should.
    Nothing,
    /// `_meta.codex.threadStatus` of a session info is `systemError`.
    ThreadStatus,
    /// The last piece of text begins with `Error: `, and the answer has no usage.
    ErrorText,
}

/// Amount of a tool call in the agent's first message about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstCallDetail {
    /// All of it, if there is any input at all.
    Whole,
    /// A part; the rest comes when the tool starts.
    Draft,
}

#[derive(Debug)]
pub(super) struct AcpAgent {
    /// A word in its program's name and in the name it gives itself.
    word: &'static str,
    pub(super) cost: bool,
    /// Whether it reports how full its context is.
    pub(super) context: bool,
    /// The prompt that makes it compact its context.
    pub(super) compact: Option<&'static str>,
    pub(super) tokens: TokenScope,
    pub(super) tell: FailureSign,
    pub(super) first_word: FirstCallDetail,
    /// Variables that make it behave as a child.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Variables without which it refuses its bypass as root.
    pub(super) env_as_root: &'static [(&'static str, &'static str)],
}

const PLAIN: AcpAgent = AcpAgent {
    word: "",
    cost: false,
    context: false,
    compact: None,
    tokens: TokenScope::Session,
    tell: FailureSign::Nothing,
    first_word: FirstCallDetail::Whole,
    env: &[],
    env_as_root: &[],
};

static AGENTS: &[AcpAgent] = &[
    AcpAgent {
        word: "claude",
        cost: true,
        context: true,
        compact: Some("/compact"),
        tokens: TokenScope::Turn,
        env_as_root: &[("IS_SANDBOX", "1")],
        ..PLAIN
    },
    AcpAgent {
        word: "codex",
        context: true,
        compact: Some("/compact"),
        tokens: TokenScope::Turn,
        tell: FailureSign::ThreadStatus,
        ..PLAIN
    },
    // It names a session's file by the minute: one that is continued within the minute in which it
    // began is overwritten, and it then says "Invalid session identifier".
    AcpAgent {
        word: "gemini",
        tokens: TokenScope::Turn,
        env: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        ..PLAIN
    },
    AcpAgent {
        word: "opencode",
        cost: true,
        context: true,
        compact: Some("/compact"),
        tokens: TokenScope::LastStep,
        first_word: FirstCallDetail::Draft,
        ..PLAIN
    },
    AcpAgent {
        word: "qwen",
        context: true,
        compact: Some("/compress"),
        tokens: TokenScope::Turn,
        ..PLAIN
    },
    AcpAgent {
        word: "copilot",
        context: true,
        compact: Some("/compact"),
        tell: FailureSign::ErrorText,
        ..PLAIN
    },
];

/// The agent that a name speaks of: that of a program, or the one it gives itself.
pub(super) fn known(name: &str) -> Option<&'static AcpAgent> {
    let file = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    AGENTS.iter().find(|agent| file.contains(agent.word))
}

/// Return the assumptions about an agent that is not in the table.
pub(super) fn unknown() -> &'static AcpAgent {
    &PLAIN
}

#[cfg(test)]
mod tests {
    use super::known;

    fn word(name: &str) -> Option<&'static str> {
        known(name).map(|agent| agent.word)
    }

    #[test]
    fn an_agent_is_known_by_its_program_and_by_the_name_it_gives_itself() {
        assert_eq!(word("/opt/bin/claude-agent-acp"), Some("claude"));
        assert_eq!(word("@agentclientprotocol/codex-acp"), Some("codex"));
        assert_eq!(word("OpenCode"), Some("opencode"));
        assert_eq!(word("Copilot"), Some("copilot"));
        assert_eq!(word("/opt/claude/bin/other"), None);
        assert_eq!(word("--acp"), None);
    }
}
