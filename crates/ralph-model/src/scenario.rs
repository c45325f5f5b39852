//! What the model will say, as a file that people write.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::conversation::Conversation;

/// Everything one server will say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The first one that fits speaks.
    pub rules: Vec<Rule>,
}

/// What to say to one kind of prompt.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The words with which the user's text begins.
    pub when: Option<String>,
    /// Something that is anywhere in the user's text.
    pub has: Option<String>,
    /// Which of the user's texts it is, counted from 1.
    pub turn: Option<usize>,
    /// One answer after the other.
    pub steps: Vec<Step>,
}

/// One answer: any of its parts, in this order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Words of reasoning.
    pub thinking: Option<String>,
    /// Words of the answer.
    pub text: Option<String>,
    /// Make a file, with whatever tool the program offers for that.
    pub write: Option<WriteFile>,
    /// Run a command, with whatever tool the program offers for that.
    pub shell: Option<String>,
    /// Use exactly this tool.
    pub tool: Option<ToolUse>,
    /// The structured answer, in the way the program asked for it.
    pub answer: Option<Value>,
    /// Tokens to report.
    pub usage: Usage,
    /// Go wrong instead.
    pub fault: Option<Fault>,
    /// Go wrong only this many times, then give the answer; calls without tools are spared.
    /// Without it: always.
    pub times: Option<u32>,
}

/// A file to make.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Where, from the program's working directory.
    pub path: String,
    /// What is in it.
    pub content: String,
}

/// One call of one tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// Its name.
    pub name: String,
    /// What it is given.
    pub input: Value,
}

/// Tokens, none of them counted twice.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Read, neither from a cache nor into one.
    pub input: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Read and put into a cache.
    pub cache_write: u64,
    /// Written.
    pub output: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, cache_read: 0, cache_write: 0, output: 20 }
    }
}

impl Usage {
    /// All that was read, as the protocols of OpenAI and Google count.
    pub fn all_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

/// What can go wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// This status, with the protocol's own error body unless one is given.
    Status {
        /// The HTTP status.
        status: u16,
        /// The body, whatever it is.
        body: Option<Value>,
        /// More headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// The key is refused.
    Unauthorized,
    /// The conversation does not fit into the context.
    TooLong,
    /// The account has used up what it may use.
    UsageLimit {
        /// When it is lifted, in seconds since 1970.
        resets_at: i64,
    },
    /// No answer at all; the connection stays open.
    Hang,
    /// Half the stream, then silence.
    Stall,
    /// Half the stream, then the connection is cut.
    Drop,
    /// A stream with a line in it that is no JSON.
    Malformed,
    /// Half the stream, then its regular end.
    Truncate,
    /// Half the stream, then the protocol's error event.
    StreamError,
}

/// The step that is due, and what its `$1` stand for.
#[derive(Clone, Debug)]
pub(crate) struct Due<'a> {
    /// Which rule and which of its steps, for counting.
    pub(crate) place: (usize, usize),
    /// The rule's name for records.
    pub(crate) rule: &'a str,
    /// The step; `None` after the last one.
    pub(crate) step: Option<&'a Step>,
    words: Vec<&'a str>,
    rest: &'a str,
}

impl Scenario {
    /// Read one from JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What is due in this conversation.
    pub(crate) fn due<'a>(&'a self, talk: &'a Conversation) -> Option<Due<'a>> {
        let texts: Vec<(usize, &str)> = talk.user_texts().collect();
        let specific = texts.iter().enumerate().rev().find_map(|(n, (at, text))| {
            let rule = self.rules.iter().position(|r| !r.is_fallback() && r.fits(text, n + 1))?;
            Some((rule, *at, *text))
        });
        let (index, at, text) = match specific {
            Some(found) => found,
            None => {
                let rule = self.rules.iter().position(Rule::is_fallback)?;
                let (at, text) = texts.last().copied().unwrap_or((0, ""));
                (rule, at, text)
            }
        };
        let rule = &self.rules[index];
        let turn = talk.answers_after(at);
        let rest = rule.rest(text);
        Some(Due {
            place: (index, turn),
            rule: rule.name(),
            step: rule.steps.get(turn),
            words: rest.split_whitespace().collect(),
            rest,
        })
    }
}

impl Rule {
    fn is_fallback(&self) -> bool {
        self.when.is_none() && self.has.is_none() && self.turn.is_none()
    }

    fn name(&self) -> &str {
        self.when.as_deref().or(self.has.as_deref()).unwrap_or("(fallback)")
    }

    fn fits(&self, text: &str, turn: usize) -> bool {
        let begins = |when: &String| {
            let mut words = text.split_whitespace();
            when.split_whitespace().all(|w| words.next() == Some(w))
        };
        self.when.as_ref().is_none_or(begins)
            && self.has.as_ref().is_none_or(|has| text.contains(has.as_str()))
            && self.turn.is_none_or(|wanted| wanted == turn)
    }

    /// What comes after the words of `when`.
    fn rest<'a>(&self, text: &'a str) -> &'a str {
        let words = self.when.as_deref().unwrap_or_default().split_whitespace().count();
        (0..words).fold(text.trim(), |text, _| {
            text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start())
        })
    }
}

impl Due<'_> {
    /// The text with `$1` … `$9` and `$*` filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = text.replace("$*", self.rest);
        for number in 1..=9 {
            let word = self.words.get(number - 1).copied().unwrap_or_default();
            filled = filled.replace(&format!("${number}"), word);
        }
        filled
    }

    /// The same for every string inside a value.
    pub(crate) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(key, item)| (key.clone(), self.fill_value(item))).collect()
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
#[path = "scenario_tests.rs"]
mod tests;
