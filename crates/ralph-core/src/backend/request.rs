//! Requests to a backend, and the invocations that start it.

use serde_json::Value;

use super::TokenUsage;

/// Actions that a backend may take without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendPermissions {
    /// Everything: the attempt is a transaction, and gates decide.
    Bypass,
    /// Whatever the program's own settings allow.
    Default,
    /// Look, but change nothing, as far as the program can be told so.
    ReadOnly,
}

/// Whether a run begins a session or continues one.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionStart<'a> {
    New,
    /// Continue the session with this id.
    Resume {
        id: &'a str,
        /// Usage of the session before this run. Several programs report totals of the whole session.
        before: RunUsage,
    },
    /// Continue the session with this id only to compact its context. The prompt says what to keep.
    /// For backends that support it; others would take the prompt as work.
    Compact {
        id: &'a str,
        before: RunUsage,
    },
}

impl<'a> SessionStart<'a> {
    /// The id of the session that goes on.
    pub fn id(&self) -> Option<&'a str> {
        match self {
            Self::New => None,
            Self::Resume { id, .. } | Self::Compact { id, .. } => Some(id),
        }
    }

    /// Return the usage of the session before this run. It is empty for a new session.
    pub fn before(&self) -> RunUsage {
        match self {
            Self::New => RunUsage::default(),
            Self::Resume { before, .. } | Self::Compact { before, .. } => *before,
        }
    }
}

/// Usage of a run. `None` means that nobody reported the number. It does not mean 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunUsage {
    /// Cost in dollars.
    pub cost: Option<f64>,
    /// Tokens read, those from a cache included.
    pub input: Option<u64>,
    /// Of these, tokens from a cache.
    pub cached: Option<u64>,
    /// Tokens written by the model.
    pub output: Option<u64>,
    pub turns: Option<u64>,
}

impl RunUsage {
    /// Adds the tokens of one more message.
    pub fn add(&mut self, usage: TokenUsage) {
        let (input, cached, output) = (usage.input, usage.cached, usage.output);
        let more = Self {
            input: Some(input),
            cached: Some(cached),
            output: Some(output),
            ..Self::default()
        };
        *self = self.plus(more);
    }

    /// The tokens, once both ways are counted.
    pub fn tokens(self) -> Option<TokenUsage> {
        let cached = self.cached.unwrap_or(0);
        Some(TokenUsage { input: self.input?, cached, output: self.output? })
    }

    /// Add two usages field by field. A sum is `None` only when both fields are `None`.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let whole = |a: Option<u64>, b: Option<u64>| {
            [a, b].into_iter().flatten().reduce(u64::saturating_add)
        };
        Self {
            cost: [self.cost, more.cost].into_iter().flatten().reduce(|a, b| a + b),
            input: whole(self.input, more.input),
            cached: whole(self.cached, more.cached),
            output: whole(self.output, more.output),
            turns: whole(self.turns, more.turns),
        }
    }

    /// Return the usage since `before`, field by field. No field falls below zero.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let whole = |now: Option<u64>, then: Option<u64>| {
            now.map(|now| now.saturating_sub(then.unwrap_or(0)))
        };
        Self {
            cost: self.cost.map(|now| (now - before.cost.unwrap_or(0.0)).max(0.0)),
            input: whole(self.input, before.input),
            cached: whole(self.cached, before.cached),
            output: whole(self.output, before.output),
            turns: whole(self.turns, before.turns),
        }
    }
}

/// Request for one run of a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendRequest<'a> {
    /// Task for the agent. It is never passed as an argument, because arguments
    /// have a size limit and are visible in `ps`.
    pub prompt: &'a str,
    /// Added to the program's own system prompt.
    pub system: Option<&'a str>,
    /// Model to use. `None` leaves the choice to the program.
    pub model: Option<&'a str>,
    /// Maximum number of turns. `None` means no limit.
    pub max_turns: Option<u32>,
    pub permissions: BackendPermissions,
    /// MCP servers, as `{"mcpServers": {…}}`. `None` gives none.
    pub mcp: Option<&'a Value>,
    /// A JSON Schema for the answer.
    pub schema: Option<&'a Value>,
    pub session: SessionStart<'a>,
    /// Maximum cost of this run in dollars. `None` means no limit.
    pub budget: Option<f64>,
    /// A directory for the files of this run, as an absolute path without a final slash.
    pub scratch: &'a str,
    /// Whether the program will run as root, which some refuse unless told that it is meant.
    pub as_root: bool,
}

impl<'a> BackendRequest<'a> {
    /// A new session that is asked for nothing but this, and may do everything.
    pub fn plain(prompt: &'a str) -> Self {
        Self {
            prompt,
            system: None,
            model: None,
            max_turns: None,
            permissions: BackendPermissions::Bypass,
            mcp: None,
            schema: None,
            session: SessionStart::New,
            budget: None,
            scratch: "",
            as_root: false,
        }
    }
}

/// A file that must exist before the program starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScratchFile {
    /// Absolute path, below the request's `scratch`.
    pub path: String,
    pub text: String,
}

/// Arguments, environment, input and files to start a program with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Arguments without the program's name.
    pub args: Vec<String>,
    /// Environment variables to set.
    pub env: Vec<(String, String)>,
    /// Written to standard input, which is then closed.
    pub stdin: String,
    /// Files to write before the program starts.
    pub files: Vec<ScratchFile>,
}
