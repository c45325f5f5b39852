//! A progress file that came back although nobody asked for it.
//!
//! The agent does not own the file. Of what it returns, or of what it made of the file itself, only
//! two things are taken: the tick of the task it worked on, and its note on this attempt.

use crate::fence::{FencePosition, FenceTracker};
use crate::format::PlanCodec;
use crate::format::progress::{self, ProgressCodec, RecentAttempt};
use crate::plan::{Task, TaskState};

/// Values taken from a progress file that an agent returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressClaim {
    /// The task is ticked in it.
    pub ticked: bool,
    /// Note of the file about this attempt.
    pub attempt: Option<RecentAttempt>,
}

/// Read the tick and the note for `task` from a progress file in a reply.
/// The last file counts. `None` means that no file in the reply has this task.
pub fn taken_from_progress(reply: &str, task: &Task, iteration: u32) -> Option<ProgressClaim> {
    files(reply).iter().rev().find_map(|text| {
        let plan = ProgressCodec.parse(text).ok()?;
        let file = progress::read(text).ok()?;
        let same = |t: &&Task| t.id == task.id || t.name.trim() == task.name.trim();
        let found = plan.tasks.iter().find(same)?;
        let is_about = |a: &&RecentAttempt| {
            a.iteration == iteration
                && (names(&a.tried, task)
                    // A note that names no task at all is on the one that was worked on.
                    || plan.tasks.iter().all(|t| !names(&a.tried, t)))
        };
        Some(ProgressClaim {
            ticked: found.state == TaskState::Accepted,
            attempt: file.attempts.iter().rev().find(is_about).cloned(),
        })
    })
}

fn names(text: &str, task: &Task) -> bool {
    text.contains(task.id.as_str()) || text.contains(task.name.trim())
}

/// The progress files in a reply: in code blocks, and from a title in the open to the end.
fn files(reply: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fences = FenceTracker::default();
    let mut block: Option<Vec<&str>> = None;
    let mut open: Option<Vec<&str>> = None;
    for line in reply.lines() {
        let place = fences.next(line);
        if let Some(lines) = &mut open {
            lines.push(line);
        } else if place == FencePosition::Outside && is_title(line) {
            open = Some(vec![line]);
        }
        match place {
            FencePosition::Mark => found.extend(block.take().map(|lines| lines.join("\n"))),
            FencePosition::Inside if block.is_some() || is_title(line) => {
                block.get_or_insert_default().push(line);
            }
            FencePosition::Inside | FencePosition::Outside => {}
        }
    }
    found.extend(block.into_iter().chain(open).map(|lines| lines.join("\n")));
    for text in &mut found {
        text.push('\n');
    }
    found
}

fn is_title(line: &str) -> bool {
    line.strip_prefix("# ").is_some_and(|title| {
        title.trim_start().get(..8).is_some_and(|word| word.eq_ignore_ascii_case("progress"))
    })
}
