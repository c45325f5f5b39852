//! Three small pictures as SVG: what was spent, how attempts went, where the time went.
//!
//! They take their colours from the page's variables, so that they fit light, dark and paper, and tell
//! everything by shape and text too.

use std::fmt::Write as _;

use super::Report;
use super::html::escaped;
use crate::words::{dollars, elapsed, took};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 24.0;
/// Most attempts that are told apart at this width.
const MOST: usize = 120;

/// Money over time, as a rising step. Nothing when nothing is known.
pub(super) fn spending(report: &Report) -> Option<String> {
    let (first, last) = (report.spending.first()?, report.spending.last()?);
    let began = report.runs.first().map_or(first.at, |run| run.began.max(report.since));
    let (from, to) = (began.min(first.at), last.at.max(began.saturating_add(60)));
    let most = last.total_usd.max(0.01);
    let x =
        |at: i64| LEFT + (at - from) as f64 / (to - from).max(1) as f64 * (WIDTH - LEFT - RIGHT);
    let y = |usd: f64| TOP + (1.0 - usd / most) * (HEIGHT - TOP - BOTTOM);
    let mut path = format!("M{:.1} {:.1}", x(from), y(0.0));
    for spent in &report.spending {
        let _ = write!(path, "H{:.1}V{:.1}", x(spent.at), y(spent.total_usd));
    }
    let floor = y(0.0);
    let mut svg = open(HEIGHT, &format!("cost over time, {} in all", dollars(last.total_usd)));
    for usd in [0.0, most / 2.0, most] {
        let at = y(usd);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"end\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            dollars(usd)
        );
    }
    let end = x(to);
    let _ = write!(
        svg,
        "<path class=\"area\" d=\"{path}V{floor:.1}Z\"/><path class=\"step\" d=\"{path}H{end:.1}\"/>"
    );
    let base = HEIGHT - 6.0;
    let (left, right) = (report.hour(from), report.hour(to));
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{base}\">{left}</text>\
         <text class=\"end\" x=\"{:.0}\" y=\"{base}\">{right}</text></svg>",
        WIDTH - RIGHT
    );
    Some(svg)
}

/// One bar for each attempt, as high as it took long.
pub(super) fn attempts(report: &Report) -> Option<String> {
    let shown = &report.attempts[report.attempts.len().saturating_sub(MOST)..];
    let longest = shown.iter().map(|one| one.duration_ms.unwrap_or(0)).max()?.max(1);
    let room = (WIDTH - LEFT - RIGHT) / shown.len().max(1) as f64;
    let (step, floor) = (room.min(36.0), HEIGHT - BOTTOM);
    let bar = (step * 0.75).max(1.0);
    let mut svg = open(HEIGHT, "attempts, oldest first; the height is how long each took");
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{floor}\" y2=\"{floor}\"/>\
         <text class=\"end\" x=\"{:.0}\" y=\"{:.1}\">{}</text>",
        WIDTH - RIGHT,
        LEFT - 8.0,
        TOP + 4.0,
        elapsed(longest / 1000)
    );
    for (n, one) in shown.iter().enumerate() {
        let (class, word, mark) = match &one.fate {
            fate if fate.is_landed() => ("good", "landed", ""),
            fate if fate.is_failed() => ("bad", "failed", "×"),
            _ => ("idle", "does not count", "·"),
        };
        let agent_ms = one.duration_ms.unwrap_or(0);
        let height = (agent_ms as f64 / longest as f64 * (floor - TOP)).max(3.0);
        let (x, y) = (LEFT + step * n as f64 + (step - bar) / 2.0, floor - height);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{bar:.1}\" \
             height=\"{height:.1}\" rx=\"1.5\"><title>attempt {}, {}: {word}, {}</title></rect>",
            one.started.iteration,
            escaped(&one.started.task),
            took(agent_ms)
        );
        if !mark.is_empty() && step >= 8.0 {
            let middle = x + bar / 2.0;
            let below = floor + 16.0;
            let _ =
                write!(svg, "<text class=\"mid\" x=\"{middle:.1}\" y=\"{below}\">{mark}</text>");
        }
    }
    svg.push_str("</svg>");
    Some(svg)
}

/// One lying bar for each stage.
pub(super) fn stages(report: &Report) -> Option<String> {
    let most = report.stages.iter().map(|line| line.duration_ms).max()?.max(1);
    let (row, label, numbers) = (30.0, 104.0, 250.0);
    let height = row * report.stages.len() as f64 + 8.0;
    let mut svg = open(height, "time in which agents worked, by stage");
    for (n, line) in report.stages.iter().enumerate() {
        let top = 4.0 + row * n as f64;
        let width = (line.duration_ms as f64 / most as f64 * (WIDTH - label - numbers)).max(2.0);
        let _ = write!(
            svg,
            "<text class=\"end\" x=\"{:.0}\" y=\"{:.1}\">{}</text>\
             <rect class=\"plain\" x=\"{label}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"16\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}, {}</text>",
            label - 8.0,
            top + 17.0,
            escaped(&line.name),
            top + 5.0,
            label + width + 8.0,
            top + 17.0,
            elapsed(line.duration_ms / 1000),
            escaped(&line.cost.in_list())
        );
    }
    svg.push_str("</svg>");
    Some(svg)
}

fn open(height: f64, about: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>",
        escaped(about)
    )
}
