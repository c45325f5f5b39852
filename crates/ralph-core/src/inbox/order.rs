//! Another order of the queue: pending records change places, and no other line moves.

use super::{Inbox, InboxEntry, InboxError, InboxStatus};
use crate::text;

impl Inbox<'_> {
    /// The text with a pending entry moved before another pending one, or behind the last of them.
    pub fn move_before(&self, id: &str, before: Option<&str>) -> Result<String, InboxError> {
        let moved = self.pending(id)?;
        let place = match before {
            Some(before) if before == id => return Ok(self.text.to_owned()),
            Some(before) => self.records[self.pending(before)?].line.with_end().start,
            None => {
                let waits = |e: &InboxEntry| e.status == InboxStatus::Pending;
                let last = self.entries.iter().rposition(waits).unwrap_or(moved);
                self.records[last].line.with_end().end
            }
        };
        let range = self.records[moved].line.with_end();
        if range.contains(&place) || range.end == place {
            return Ok(self.text.to_owned());
        }
        let line = self.text[range.clone()].trim_end_matches(['\r', '\n']);
        let end = text::newline(self.text);
        let gap = if self.text[..place].ends_with('\n') || place == 0 { "" } else { end };
        let splices = vec![
            text::Splice::insert(place, format!("{gap}{line}{end}")),
            text::Splice::remove(range),
        ];
        Ok(text::splice(self.text, splices)?)
    }

    fn pending(&self, id: &str) -> Result<usize, InboxError> {
        let found = self.entries.iter().position(|e| e.id == id);
        let at = found.ok_or_else(|| InboxError::Unknown(id.to_owned()))?;
        match self.entries[at].status {
            InboxStatus::Pending => Ok(at),
            InboxStatus::Active => Err(InboxError::active(&self.entries[at])),
            InboxStatus::Done | InboxStatus::Failed => {
                Err(InboxError::Unknown(format!("pending {id}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(order: &[(&str, &str)]) -> String {
        let line = |(id, status): &(&str, &str)| {
            format!(
                "{{\"t\":\"inbox\",\"id\":\"q-000{id}\",\"spec\":\"{id}.md\",\"added_at\":\"x\",\
                 \"status\":\"{status}\",\"mine\":1}}\n"
            )
        };
        order.iter().map(line).collect()
    }

    fn order(text: &str) -> Vec<String> {
        let inbox = Inbox::parse(text).unwrap();
        inbox.entries().iter().map(|e| e.id[5..].to_owned()).collect()
    }

    const FOUR: [(&str, &str); 4] =
        [("a", "done"), ("b", "pending"), ("c", "active"), ("d", "pending")];

    #[test]
    fn a_pending_entry_moves_and_every_other_line_stays() {
        let all = text(&FOUR);
        for end in ["\n", ""] {
            let all = format!("{}{end}", all.trim_end());
            let inbox = Inbox::parse(&all).unwrap();
            let first = inbox.move_before("q-000d", Some("q-000b")).unwrap();
            assert_eq!(order(&first), ["a", "d", "b", "c"]);
            let last = inbox.move_before("q-000b", None).unwrap();
            assert_eq!(order(&last), ["a", "c", "d", "b"]);
            assert_eq!(inbox.move_before("q-000d", None).unwrap(), all, "it is there already");
        }
    }

    #[test]
    fn what_is_not_pending_does_not_move_and_nothing_moves_before_it() {
        let all = text(&FOUR);
        let inbox = Inbox::parse(&all).unwrap();
        for (id, before) in [
            ("q-000a", Some("q-000b")),
            ("q-000c", None),
            ("q-000b", Some("q-000c")),
            ("q-000x", None),
            ("q-000b", Some("q-000x")),
        ] {
            assert!(inbox.move_before(id, before).is_err(), "{id} before {before:?}");
        }
    }
}
