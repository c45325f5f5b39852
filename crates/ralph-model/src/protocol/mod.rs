//! The protocols: how a call is read and how an answer is written, one file each.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::conversation::Conversation;

/// A way to talk to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Gemini generateContent.
    Gemini,
}

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// An answer; the body says whether as a stream.
    Answer(Protocol),
    /// An answer, and here the path says that it is a stream.
    Stream(Protocol),
    /// How many tokens that would be.
    Count(Protocol),
    /// Which models there are.
    Models,
    /// Nothing that a model server knows.
    Unknown,
}

impl Ask {
    /// By method and path. Programs put different things before the last part.
    pub(crate) fn of(method: &str, path: &str) -> Self {
        let post = method == "POST";
        let ends = |end: &str| path.ends_with(end);
        if method == "GET" && (ends("/models") || path.contains("/models/")) {
            Self::Models
        } else if post && ends("/messages") {
            Self::Answer(Protocol::Anthropic)
        } else if post && ends("/messages/count_tokens") {
            Self::Count(Protocol::Anthropic)
        } else if post && ends("/responses") {
            Self::Answer(Protocol::Responses)
        } else if post && ends("/chat/completions") {
            Self::Answer(Protocol::Chat)
        } else if post && ends(":generateContent") {
            Self::Answer(Protocol::Gemini)
        } else if post && ends(":streamGenerateContent") {
            Self::Stream(Protocol::Gemini)
        } else if post && ends(":countTokens") {
            Self::Count(Protocol::Gemini)
        } else {
            Self::Unknown
        }
    }
}

/// What is wrong, as each protocol says it in its own words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// Just this status.
    Status(u16),
    /// The key is refused.
    Unauthorized,
    /// It does not fit into the context.
    TooLong,
    /// Used up until then.
    UsageLimit(i64),
}

impl Trouble {
    fn status(self) -> u16 {
        match self {
            Self::Status(status) => status,
            Self::Unauthorized => 401,
            Self::TooLong => 400,
            Self::UsageLimit(_) => 429,
        }
    }
}

/// An answer that is an error.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Protocol {
    /// Read a call; `path` because Gemini has the model there.
    pub(crate) fn read(self, path: &str, body: &Value) -> Conversation {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(path, body),
        }
    }

    /// The answer as a stream of server-sent events.
    pub(crate) fn frames(self, answer: &Answer) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::frames(answer),
            Self::Responses => responses::frames(answer),
            Self::Chat => chat::frames(answer),
            Self::Gemini => gemini::frames(answer),
        }
    }

    /// The answer in one piece.
    pub(crate) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    /// How many tokens a call would be: one for four bytes.
    pub(crate) fn count(self, body: &[u8]) -> Value {
        let tokens = body.len() / 4;
        match self {
            Self::Gemini => json!({"totalTokens": tokens}),
            _ => json!({"input_tokens": tokens}),
        }
    }

    /// An error before the stream begins.
    pub(crate) fn refusal(self, trouble: Trouble) -> Refusal {
        let (headers, body) = match self {
            Self::Anthropic => anthropic::refusal(trouble),
            Self::Responses | Self::Chat => responses::refusal(trouble),
            Self::Gemini => (Vec::new(), gemini::refusal(trouble)),
        };
        Refusal { status: trouble.status(), headers, body }
    }

    /// The event that ends a stream with an error.
    pub(crate) fn error_frame(self) -> String {
        match self {
            Self::Anthropic => {
                let error = json!({"type": "overloaded_error", "message": "Overloaded"});
                event("error", &json!({"type": "error", "error": error}))
            }
            Self::Responses => responses::failed("server_error", "the scenario ends it here"),
            Self::Chat | Self::Gemini => {
                let error = json!({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"});
                data(&json!({"error": error}))
            }
        }
    }
}

/// A server-sent event with a name.
fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\n{}", data(value))
}

/// A server-sent event without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// The text in two pieces, so that a reader has something to put together.
fn pieces(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at));
    let (first, second) = text.split_at(middle.unwrap_or(0));
    [first, second]
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
