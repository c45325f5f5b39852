//! Events out of the parts of a line.

use std::collections::BTreeMap;

use super::line::{Block, Line, Message, Model, Part};
use crate::backend::wire::{self, Object, Shape};
use crate::backend::{Event, ToolStatus};

/// Most of a tool's words, or of a line that is not understood.
pub(super) const MOST_TEXT: usize = 64 << 10;

/// Something this version of ralph does not know.
pub(super) fn unknown(raw: &[u8], events: &mut Vec<Event>) {
    let text = String::from_utf8_lossy(&raw[..raw.len().min(MOST_TEXT)]).into_owned();
    let rest = raw.len().saturating_sub(MOST_TEXT);
    events.push(Event::Unknown(if rest == 0 {
        text
    } else {
        format!("{text}\n… ({rest} more bytes are in the log)")
    }));
}

/// What tools gave back. Other words in a `user` event are the program's own, to its model.
pub(super) fn tool_results(line: Line<'_>, events: &mut Vec<Event>) {
    let Shape::Object(Message { content: Shape::List(blocks), .. }) = line.message else { return };
    let blocks = blocks.into_iter().filter_map(|block| block.0);
    let results = blocks.filter(|b| b.kind.str().is_some_and(|kind| kind.ends_with("tool_result")));
    events.extend(results.map(tool_result));
}

/// What one tool gave back.
pub(super) fn tool_result(block: Block<'_>) -> Event {
    let text = match block.content {
        Shape::Text(text) => text.into_owned(),
        Shape::Object(part) => part_text(part),
        Shape::List(parts) => {
            let texts: Vec<String> =
                parts.into_iter().filter_map(|part| part.0).map(part_text).collect();
            texts.join("\n")
        }
        Shape::Nothing => String::new(),
    };
    Event::ToolResult {
        id: block.tool_use_id.into_string().unwrap_or_default(),
        status: if block.is_error.is_true() { ToolStatus::Failed } else { ToolStatus::Ok },
        text: wire::head(text, MOST_TEXT),
    }
}

fn part_text(part: Part<'_>) -> String {
    let kind = part.kind;
    part.text.into_string().unwrap_or_else(|| format!("[{}]", kind.str().unwrap_or("something")))
}

/// The program tries a call of its model again.
pub(super) fn retry(line: &Line<'_>) -> Event {
    let mut reason = line.error.str().unwrap_or("unknown").to_owned();
    if let Some(status) = line.error_status.whole() {
        reason.push_str(&format!(" ({status})"));
    }
    Event::Retry {
        attempt: line.attempt.whole().unwrap_or(0),
        of: line.max_retries.whole(),
        delay_ms: line.retry_delay_ms.real().map(|delay| delay as u64),
        reason,
    }
}

/// The window of the main agent's model; its name may carry a variant (`name[1m]`) on either side.
pub(super) fn window(
    models: &BTreeMap<String, Object<Model<'_>>>,
    main: Option<&str>,
) -> Option<u64> {
    let plain = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
    let is_main = |name: &str| main.is_some_and(|main| plain(name) == plain(main));
    let of = |model: &Object<Model<'_>>| model.0.as_ref()?.context_window.whole();
    let exact = main.and_then(|main| models.get(main));
    let alike = || models.iter().find(|(name, _)| is_main(name)).map(|(_, model)| model);
    let only = || models.values().next().filter(|_| models.len() == 1);
    of(exact.or_else(alike).or_else(only)?)
}
