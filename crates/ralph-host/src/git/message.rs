//! The message of a commit.

use serde::{Deserialize, Serialize};

/// A subject line, a text, and trailers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMessage {
    /// The first line.
    pub subject: String,
    /// What comes below it; may be empty.
    pub body: String,
    /// `Name: value` at the end.
    pub trailers: Vec<(String, String)>,
}

/// The trailer that says which attempt a commit is.
pub(crate) const ATTEMPT: &str = "Ralph-Attempt";

impl CommitMessage {
    /// The message as git takes it. `ours` are trailers that every commit of its kind has.
    pub(super) fn render(&self, ours: &[(&str, &str)]) -> Vec<u8> {
        let mut text = one_line(&self.subject);
        if text.is_empty() {
            text.push_str("ralph");
        }
        text.push('\n');
        let body = self.body.trim_end();
        if !body.is_empty() {
            text.push('\n');
            text.push_str(body);
            text.push('\n');
        }
        let missing = ours.iter().filter(|(name, _)| self.trailers.iter().all(|(n, _)| n != name));
        let trailers = self.trailers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let mut gap = "\n";
        for (name, value) in trailers.chain(missing.copied()) {
            text.push_str(gap);
            text.push_str(&format!("{name}: {}\n", one_line(value)));
            gap = "";
        }
        text.into_bytes()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_stand_in_their_own_block_and_each_on_one_line() {
        let message = CommitMessage {
            subject: "ralph[1]: t-1 —\nfirst".into(),
            body: "Why.\n\n".into(),
            trailers: vec![("Ralph-Task".into(), "t-1\nRalph-Attempt: fake".into())],
        };
        let text = String::from_utf8(message.render(&[(ATTEMPT, "01X")])).unwrap();
        assert_eq!(
            text,
            "ralph[1]: t-1 — first\n\nWhy.\n\nRalph-Task: t-1 Ralph-Attempt: fake\nRalph-Attempt: 01X\n"
        );
    }
}
