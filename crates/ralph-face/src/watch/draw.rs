//! A picture of the view that fits any size, with and without colours.

use ralph_core::plan::TaskStateName;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::text::{Line as Row, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::app::{TypingPurpose, WatchApp, WatchMode, WatchPane, WatchRole};
use super::head::{head, need, now};
use crate::line::{Paint, ScreenLine, ScreenStyle};
use crate::text::{clean, pad};

/// Narrower than this there is one pane at a time.
const TWO_PANES: u16 = 70;
/// Less than this is only for the most important line.
const TINY: (u16, u16) = (24, 6);

/// Draw the view on the whole screen.
pub fn draw(frame: &mut Frame<'_>, app: &mut WatchApp, paint: Paint) {
    let area = frame.area();
    let pen = ScreenPainter(paint);
    if area.width < TINY.0 || area.height < TINY.1 {
        let state = app.board.as_ref().map(|board| &board.state);
        let lines = state.map(|state| [now(state), need(state)]).into_iter().flatten();
        let rows: Vec<Row<'_>> = lines.map(|l| pen.row(&l.fit(area.width.into()))).collect();
        frame.render_widget(Paragraph::new(rows), area);
        return;
    }
    let state = app.board.as_ref().map(|board| &board.state);
    let head = state.map(|state| head(state, area.width, area.height)).unwrap_or_default();
    let heights = [
        Constraint::Length(u16::try_from(head.len()).unwrap_or(5)),
        Constraint::Min(1),
        Constraint::Length(1),
    ];
    let [top, middle, bottom] = Layout::vertical(heights).areas(area);
    let rows: Vec<Row<'_>> = head.iter().map(|l| pen.row(&l.fit(top.width.into()))).collect();
    frame.render_widget(Paragraph::new(rows), top);
    if area.width < TWO_PANES {
        match app.pane {
            WatchPane::Tasks => tasks(frame, app, middle, pen),
            WatchPane::Text => text(frame, app, middle, pen),
        }
    } else {
        let wide = (area.width / 3).clamp(24, 48);
        let widths = [Constraint::Length(wide), Constraint::Min(1)];
        let [left, right] = Layout::horizontal(widths).areas(middle);
        tasks(frame, app, left, pen);
        text(frame, app, right, pen);
    }
    frame.render_widget(
        Paragraph::new(pen.row(&foot(app, bottom.width).fit(bottom.width.into()))),
        bottom,
    );
    if let WatchMode::Help(top) = app.mode {
        app.mode = WatchMode::Help(help(frame, area, pen, app.role, top));
    }
}

fn tasks(frame: &mut Frame<'_>, app: &WatchApp, area: Rect, pen: ScreenPainter) {
    let title = format!(" Tasks ({}) ", app.tasks().len());
    let inner = pane(frame, area, &title, app.pane == WatchPane::Tasks, pen);
    let fit = usize::from(inner.height);
    let first = app.selected.saturating_sub(fit.saturating_sub(1));
    let rows = app.tasks().iter().enumerate().skip(first).take(fit).map(|(n, task)| {
        let mark = if n == app.selected { ">" } else { " " };
        let tries = if task.attempts > 1 { format!(" x{}", task.attempts) } else { String::new() };
        let line = ScreenLine::of(ScreenStyle::Plain, mark)
            .add(meaning(task.state), pad(task.state.as_str(), 9))
            .add(ScreenStyle::Strong, &task.id)
            .add(ScreenStyle::Caution, tries)
            .add(ScreenStyle::Plain, format!(" {}", task.name));
        // One column stays free between the panes.
        pen.row(&line.fit(usize::from(inner.width).saturating_sub(1)))
    });
    let rows: Vec<Row<'_>> = match app.tasks().is_empty() {
        true => vec![pen.row(&ScreenLine::of(ScreenStyle::Faint, "no tasks yet"))],
        false => rows.collect(),
    };
    frame.render_widget(Paragraph::new(rows), inner);
}

fn text(frame: &mut Frame<'_>, app: &mut WatchApp, area: Rect, pen: ScreenPainter) {
    let follows = app.top.is_none();
    let title = match &app.detail {
        Some((task, _)) => format!(" {} (Esc: output) ", clean(task)),
        None if follows => " Output ".to_owned(),
        None => " Output, held (End follows) ".to_owned(),
    };
    let inner = pane(frame, area, &title, app.pane == WatchPane::Text, pen);
    let lines = app.detail.as_ref().map_or(&app.output, |(_, lines)| lines);
    let wrapped: Vec<ScreenLine> =
        lines.iter().flat_map(|line| line.wrap(inner.width.into())).collect();
    let fit = usize::from(inner.height);
    let last = wrapped.len().saturating_sub(fit);
    let first = app.top.map_or(last, |top| top.min(wrapped.len().saturating_sub(1)));
    let word = app.search.as_ref().map(|word| word.to_lowercase());
    let has = |line: &ScreenLine| {
        word.as_ref().is_some_and(|word| line.text().to_lowercase().contains(word.as_str()))
    };
    let rows: Vec<Row<'_>> = match wrapped.is_empty() {
        true => vec![pen.row(&ScreenLine::of(ScreenStyle::Faint, "nothing was said yet"))],
        false => {
            wrapped.iter().skip(first).take(fit).map(|line| pen.found(line, has(line))).collect()
        }
    };
    app.found = wrapped.iter().enumerate().filter(|(_, line)| has(line)).map(|(n, _)| n).collect();
    app.rows = (wrapped.len(), fit.max(1));
    frame.render_widget(Paragraph::new(rows), inner);
}

fn pane(frame: &mut Frame<'_>, area: Rect, title: &str, chosen: bool, pen: ScreenPainter) -> Rect {
    let title = if chosen { format!("*{title}") } else { title.to_owned() };
    let block = Block::new().borders(Borders::TOP).title(Span::styled(
        title,
        pen.look(if chosen { ScreenStyle::Strong } else { ScreenStyle::Faint }),
    ));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn meaning(state: TaskStateName) -> ScreenStyle {
    match state {
        TaskStateName::Accepted | TaskStateName::Done => ScreenStyle::Good,
        TaskStateName::Blocked | TaskStateName::Failed | TaskStateName::Killed => ScreenStyle::Bad,
        TaskStateName::Running => ScreenStyle::Strong,
        TaskStateName::Skipped => ScreenStyle::Faint,
        TaskStateName::Pending | TaskStateName::Gone => ScreenStyle::Plain,
    }
}

/// The keys that fit; the first ones are those that nobody can do without.
const KEYS: [&str; 9] = [
    "? keys",
    "q close",
    "p pause",
    "r resume",
    "s skip",
    "n note",
    "x stop",
    "/ search",
    "Enter detail",
];

fn foot(app: &WatchApp, width: u16) -> ScreenLine {
    match &app.mode {
        WatchMode::Typing(TypingPurpose::Note, text) => {
            ScreenLine::of(ScreenStyle::Strong, format!("note: {text}_"))
        }
        WatchMode::Typing(TypingPurpose::Search, text) => {
            ScreenLine::of(ScreenStyle::Strong, format!("/{text}_"))
        }
        WatchMode::Sure(question, _) => {
            ScreenLine::of(ScreenStyle::Caution, format!("{question} (y/n)"))
        }
        _ if !app.message.is_empty() => ScreenLine::of(ScreenStyle::Caution, &app.message),
        _ => {
            let mut text = String::new();
            for key in KEYS {
                if text.len() + key.len() + 2 <= usize::from(width) {
                    text.push_str(key);
                    text.push_str("  ");
                }
            }
            ScreenLine::of(ScreenStyle::Faint, text.trim_end())
        }
    }
}

const HELP: [&str; 14] = [
    "p         pause after this attempt",
    "r         resume",
    "s         skip the selected task",
    "n         a note for the next prompt",
    "x         stop after this attempt",
    "K         end this attempt now",
    "",
    "Tab       the other pane",
    "up, down  move or scroll (j, k)",
    "PgUp/Dn   a screen; g, G: ends",
    "Enter     attempts and patch of a task",
    "Esc       back to the output",
    "/         search; . next, , previous",
    "q         close; the loop goes on",
];

/// Draw the keys from line `top` on, or from the last one from which on they fill the box.
fn help(
    frame: &mut Frame<'_>,
    area: Rect,
    pen: ScreenPainter,
    role: WatchRole,
    top: usize,
) -> usize {
    let last = match role {
        WatchRole::Guest => "Ctrl-C    the same",
        WatchRole::Host => "Ctrl-C    end the loop after this attempt",
    };
    let lines: Vec<&str> = HELP.into_iter().chain([last]).collect();
    let all = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let (wide, high) = (46.min(area.width), (all + 2).min(area.height));
    let place = Rect {
        x: area.x + (area.width - wide) / 2,
        y: area.y + (area.height - high) / 2,
        width: wide,
        height: high,
    };
    let fit = usize::from(high.saturating_sub(2));
    let top = top.min(lines.len().saturating_sub(fit));
    let rows: Vec<Row<'_>> = lines
        .iter()
        .skip(top)
        .map(|line| {
            pen.row(&ScreenLine::of(ScreenStyle::Plain, line).fit(wide.saturating_sub(2).into()))
        })
        .collect();
    let title = if fit < lines.len() { " Keys: up, down; Esc " } else { " Keys " };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(rows).block(Block::bordered().title(title)), place);
    top
}

/// Turns meanings into what the terminal shows.
#[derive(Clone, Copy)]
struct ScreenPainter(Paint);

impl ScreenPainter {
    fn row(self, line: &ScreenLine) -> Row<'static> {
        let spans =
            line.pieces().map(|(style, text)| Span::styled(text.to_owned(), self.look(style)));
        Row::from(spans.collect::<Vec<_>>())
    }

    /// A row of the text; one that was looked for stands out.
    fn found(self, line: &ScreenLine, is_found: bool) -> Row<'static> {
        let row = self.row(line);
        if is_found { row.style(Look::new().add_modifier(Modifier::REVERSED)) } else { row }
    }

    fn look(self, style: ScreenStyle) -> Look {
        let look = Look::new();
        if self.0 == Paint::None {
            return look;
        }
        match style {
            ScreenStyle::Plain => look,
            ScreenStyle::Strong => look.add_modifier(Modifier::BOLD),
            ScreenStyle::Faint => look.add_modifier(Modifier::DIM),
            ScreenStyle::Good => look.fg(Color::Green),
            ScreenStyle::Bad => look.fg(Color::Red),
            ScreenStyle::Caution => look.fg(Color::Yellow),
        }
    }
}
