//! Context sizes of models in tokens: as reported by programs, else from a table of known models.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Context sizes of known models in tokens, by the beginning of the model name.
/// A size that a program reports takes precedence. The table is for the first run of a model.
const KNOWN_WINDOWS: [(&str, u64); 25] = [
    ("claude-opus-5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-opus-4", 200_000),
    ("claude-sonnet-4", 200_000),
    ("claude-haiku-4", 200_000),
    ("claude-3", 200_000),
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("codex-mini", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-3", 1_048_576),
    ("gemini-2", 1_048_576),
    ("gemini-1.5", 1_000_000),
    ("deepseek-", 128_000),
    ("qwen3-coder", 262_144),
    ("kimi-k2", 131_072),
    ("glm-4.6", 200_000),
    ("glm-4.5", 128_000),
    ("grok-code", 256_000),
    ("grok-4", 256_000),
    ("devstral", 128_000),
    ("mistral-large", 128_000),
    ("llama-4", 128_000),
];

/// Context sizes in tokens, by model name, as reported by programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContextWindows(BTreeMap<String, u64>);

impl ContextWindows {
    /// Return the context size of a model: the reported one, else the one from the table.
    pub fn of(&self, model: &str) -> Option<u64> {
        self.0.get(model).copied().or_else(|| known_window(model))
    }

    /// Record the context size that a program reported for a model.
    pub fn tell(&mut self, model: &str, window: u64) {
        self.0.insert(model.to_owned(), window);
    }

    /// Take in what another monitor has learned.
    pub fn learn(&mut self, other: &Self) {
        self.0.extend(other.0.iter().map(|(model, window)| (model.clone(), *window)));
    }
}

/// The window of a model by its name alone: `claude-opus-4-1`, `openrouter/anthropic/claude-sonnet-4-5`,
/// `us.anthropic.claude-haiku-4-5`. A name that ends in `[1m]` asks claude for a million.
fn known_window(model: &str) -> Option<u64> {
    let model = model.to_ascii_lowercase();
    if model.ends_with("[1m]") {
        return Some(1_000_000);
    }
    let begins = |at: usize| at == 0 || matches!(model.as_bytes()[at - 1], b'/' | b'.' | b':');
    let named = |start: &str| model.match_indices(start).any(|(at, _)| begins(at));
    KNOWN_WINDOWS.iter().find(|(start, _)| named(start)).map(|(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_model_has_a_window_before_its_program_tells_it_and_its_word_counts_more() {
        let mut windows = ContextWindows::default();
        for (model, window) in [
            ("claude-sonnet-4-5-20250929", Some(200_000)),
            ("claude-sonnet-4-5[1m]", Some(1_000_000)),
            ("claude-opus-5-5", Some(1_000_000)),
            ("us.anthropic.claude-haiku-4-5-v1:0", Some(200_000)),
            ("openrouter/openai/gpt-5-codex", Some(272_000)),
            ("gemini-2.5-pro", Some(1_048_576)),
            ("my-own-model", None),
            ("not-claude-like", None),
        ] {
            assert_eq!(windows.of(model), window, "{model}");
        }
        windows.tell("claude-sonnet-4-5-20250929", 500_000);
        assert_eq!(windows.of("claude-sonnet-4-5-20250929"), Some(500_000));
    }
}
