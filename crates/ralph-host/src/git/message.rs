//! Message of a commit, split into subject, body and trailers.

use serde::{Deserialize, Serialize};

use super::name::Oid;

/// A subject line, a text, and trailers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMessage {
    pub subject: String,
    /// Text below the subject; may be empty.
    pub body: String,
    /// Lines `Name: value` at the end of the message.
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

/// Longest line of a trailer: commit-msg hooks of many projects allow no more.
const LONGEST_TRAILER: usize = 100;

/// The trailers for the gates that ran on a tree, and that tree; none without a gate.
pub(crate) fn gate_trailers(
    gates: impl IntoIterator<Item = String>,
    tree: &Oid,
) -> Vec<(String, String)> {
    const GATES: &str = "Ralph-Gates";
    let mut trailers: Vec<(String, String)> = Vec::new();
    for gate in gates {
        let gate = one_line(&gate);
        let fits = |text: &str| {
            let lengths = [GATES, ": ", text, ", ", &gate].map(|part| part.chars().count());
            lengths.iter().sum::<usize>() <= LONGEST_TRAILER
        };
        match trailers.last_mut().filter(|(_, text)| fits(text)) {
            Some((_, text)) => text.push_str(&format!(", {gate}")),
            None => trailers.push((GATES.to_owned(), gate)),
        }
    }
    if !trailers.is_empty() {
        trailers.push(("Ralph-Gated-Tree".to_owned(), tree.to_string()));
    }
    trailers
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_stand_in_lines_that_commit_hooks_accept() {
        let tree = Oid::parse("a".repeat(64).as_bytes()).unwrap();
        let text = |gates: &[&str]| {
            let trailers = gate_trailers(gates.iter().map(|gate| (*gate).to_owned()), &tree);
            trailers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert_eq!(text(&[]), [""; 0]);
        let tree = format!("Ralph-Gated-Tree: {tree}");
        assert_eq!(text(&["unit", "style\n"]), ["Ralph-Gates: unit, style".to_owned(), tree]);
        let many = text(&["a gate of twenty-six letter"; 9]);
        assert!(many.len() > 2 && many.iter().all(|line| line.len() <= 100), "{many:?}");
    }

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
