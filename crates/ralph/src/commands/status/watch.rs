//! `ralph status --watch`: the same, again and again, as long as somebody looks.
//!
//! The files say when there is something new; at a terminal the clock of the agent loop goes on in
//! between, and whether the loop is alive is looked at. Ctrl-C ends it as it ends any program: each
//! frame leaves a clean line behind.

use std::io::{self, Write};
use std::time::Duration;

use ralph_core::text::clip;
use ralph_face::{Screen, ScreenLine, ScreenSize, ScreenStyle, TerminalAbility, stdout_size};
use ralph_host::store::journal_file;
use ralph_host::watch::FileWatch;

use super::{StatusArgs, StatusSources, agent, body};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Time between two looks at the clock.
const TICK: Duration = Duration::from_secs(1);
/// Time between two looks where no clock is shown.
const LONG: Duration = Duration::from_secs(3600);

/// Show the status until somebody ends it.
pub(super) fn run(context: &CommandContext, args: &StatusArgs) -> Result<(), CommandError> {
    let project = &context.project;
    let mut watch = FileWatch::on(vec![
        context.plan_path(&args.common.plan)?,
        project.inbox(),
        project.agent_session(),
        project.state_json(),
        journal_file(&project.state_dir()),
    ]);
    match (args.common.render(), TerminalAbility::of_stdout()) {
        (OutputMode::People, TerminalAbility::Able(paint)) => {
            let screen = Screen::new(io::stdout(), paint);
            in_place(context, args, &mut watch, screen)
        }
        (render, _) => one_more(context, args, &mut watch, render),
    }
}

/// Redraw the status in place on a terminal, again and again.
fn in_place<W: Write>(
    context: &CommandContext,
    args: &StatusArgs,
    watch: &mut FileWatch,
    mut screen: Screen<W>,
) -> Result<(), CommandError> {
    let mut below = Vec::new();
    let mut changed = true;
    loop {
        let head = agent::block(context).unwrap_or_else(|e| told(&e));
        if changed {
            // Somebody may be in the middle of an edit: that is shown, and looked at again.
            below = body(context, args, &head).unwrap_or_else(|e| told(&e));
        }
        let size = stdout_size();
        let block = fit(head.iter().chain(&below), size);
        if screen.draw(size, &[], block).is_err() {
            // The terminal is gone.
            return Ok(());
        }
        changed = watch.changed(TICK);
    }
}

/// Elsewhere: one more block, or one more line of JSON, whenever a file has changed.
fn one_more(
    context: &CommandContext,
    args: &StatusArgs,
    watch: &mut FileWatch,
    render: OutputMode,
) -> Result<(), CommandError> {
    let mut last = String::new();
    loop {
        let (now, timeless) = match render {
            OutputMode::Json => {
                let sources = StatusSources::read(context, args)?;
                let mut answer = sources.answer(context)?;
                let now = out::json_text(&answer)?;
                answer.view.clear_clocks();
                (now, out::json_text(&answer)?)
            }
            OutputMode::People => {
                let head = agent::block(context)?;
                let body = body(context, args, &head)?;
                let text = head.into_iter().chain(body).collect::<Vec<_>>().join("\n");
                (text.clone(), text)
            }
        };
        if timeless != last {
            let apart = if last.is_empty() || render == OutputMode::Json { "" } else { "\n" };
            let mut stdout = io::stdout().lock();
            if writeln!(stdout, "{apart}{now}").and_then(|()| stdout.flush()).is_err() {
                // Nobody reads it any more.
                return Ok(());
            }
            last = timeless;
        }
        while !watch.changed(LONG) {}
    }
}

fn told(error: &CommandError) -> Vec<String> {
    error.told().lines().map(out::clean).collect()
}

/// As many lines as the terminal has, none of them longer than it is wide.
fn fit<'l>(lines: impl Iterator<Item = &'l String>, size: ScreenSize) -> Vec<ScreenLine> {
    let (rows, columns) = (size.rows.saturating_sub(1), size.columns.saturating_sub(2));
    lines.take(rows).map(|line| ScreenLine::of(ScreenStyle::Plain, clip(line, columns))).collect()
}
