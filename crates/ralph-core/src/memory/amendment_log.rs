//! `.ralph/logs/amendments.log`: what backends wanted to change in the plan, and what came of it.

use std::fmt::Write as _;

use super::flat;
use crate::plan::AmendmentOutcome;
use crate::text::clip;

/// Longest word of an action that is written out; agents choose it.
const ACTION: usize = 40;

/// One line an amendment: when, by whom, accepted or rejected, what, and why not.
pub fn amendment_lines(
    at: &str,
    iteration: u32,
    task: &str,
    outcomes: &[AmendmentOutcome],
) -> String {
    let mut lines = String::new();
    for AmendmentOutcome { action, id, refused, .. } in outcomes {
        let action = clip(&flat(action), ACTION);
        let id = id.as_ref().map_or("-".to_owned(), |id| flat(id.as_str()));
        let verdict = if refused.is_none() { "accepted" } else { "rejected" };
        // Writing to a string cannot fail.
        let _ = write!(lines, "{at} iteration {iteration} {} {verdict} {action} {id}", flat(task));
        if let Some(why) = refused {
            let _ = write!(lines, ": {}", flat(why));
        }
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(action: &str, id: Option<&str>, refused: Option<&str>) -> AmendmentOutcome {
        let refused = refused.map(str::to_owned);
        AmendmentOutcome {
            action: action.into(),
            id: id.map(Into::into),
            refused,
            ..Default::default()
        }
    }

    #[test]
    fn every_amendment_has_a_line_with_what_came_of_it() {
        let outcomes = [
            outcome("add", Some("T-010"), None),
            outcome("remove", Some("T-001"), Some("task T-001 is done, so it cannot be deleted")),
        ];
        assert_eq!(
            amendment_lines("2026-01-17T10:30:00Z", 5, "T-003", &outcomes),
            "2026-01-17T10:30:00Z iteration 5 T-003 accepted add T-010\n\
             2026-01-17T10:30:00Z iteration 5 T-003 rejected remove T-001: \
             task T-001 is done, so it cannot be deleted\n"
        );
        assert_eq!(amendment_lines("t", 1, "T-1", &[]), "");
    }

    #[test]
    fn whatever_an_agent_says_stays_on_its_line() {
        let outcomes = [outcome(&"x\n".repeat(99), None, Some("two\nlines"))];
        let lines = amendment_lines("t", 1, "T-1", &outcomes);
        assert_eq!(lines.lines().count(), 1);
        assert!(lines.ends_with(" -: two lines\n"), "{lines}");
    }
}
