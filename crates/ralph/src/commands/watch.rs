//! `ralph watch`: the loop that runs, on a full screen, with keys that steer it.

mod lines;
mod tail;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ralph_core::control::{Command, promise};
use ralph_core::plan::{Plan, State};
use ralph_core::view::{Running, glance};
use ralph_face::watch::{self, Board, Colours, Source, TaskRow};
use ralph_face::{Line, Paint, Style, Terminal};
use ralph_host::drive::Signals;
use ralph_host::store::Follow;

use super::control;
use super::show::details;
use crate::args::PlanArgs;
use crate::context::Context;
use crate::error::CommandError;
use tail::Tail;

/// Lines of output that can be scrolled back to.
const KEPT: usize = 5000;
/// How often it is looked whether a loop runs, and which log is the newest.
const NOW_AND_THEN: Duration = Duration::from_secs(1);

/// Watch the loop that runs, and steer it
///
/// One screen: what runs, how far it is, whether it is healthy, what it cost, what needs you; the
/// tasks, and what the backend says. It can be opened in any terminal, and closed at any time: the loop
/// goes on. Press ? for the keys.
///
/// Examples:
///   ralph watch
///   ralph watch --plan progress.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

/// Run it.
pub(crate) fn run(context: &Context, args: &WatchArgs) -> Result<ExitCode, CommandError> {
    let Terminal::Able(paint) = Terminal::of_stdout() else {
        return Err(CommandError::new("this is no terminal that a screen can be drawn on")
            .hint("`ralph status`, `ralph attempts` and `ralph show` print the same"));
    };
    let signals = Signals::listen()
        .map_err(|e| CommandError::new(format!("cannot listen for signals: {e}")))?;
    let colours = match paint {
        Paint::Ansi => Colours::Theme,
        Paint::None => Colours::None,
    };
    let mut window = Window::open(context, &args.plan)?;
    watch::run(&mut window, colours, &signals)
        .map_err(|e| CommandError::new(format!("the terminal cannot be used: {e}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Where the view looks.
struct Window<'c> {
    context: &'c Context,
    asked: PlanArgs,
    follow: Follow,
    plan: Plan,
    shown: String,
    limit: Option<f64>,
    running: Running,
    looked: Option<Instant>,
    tail: Tail,
    output: Vec<Line>,
    /// The last thing that went wrong with looking, so that it is told once.
    trouble: Option<String>,
}

impl<'c> Window<'c> {
    fn open(context: &'c Context, asked: &PlanArgs) -> Result<Self, CommandError> {
        let mut follow = Follow::of(&context.project.state_dir());
        follow.look().map_err(|e| CommandError::new(e.to_string()).maybe_hint(e.hint()))?;
        let plan = control::plan_of(context, follow.history(), asked);
        let file = context.read_plan(&plan)?;
        let config = context.config_with(&[], &file)?.config;
        Ok(Self {
            context,
            asked: asked.clone(),
            follow,
            plan: file.plan,
            shown: file.shown,
            limit: config.limits.max_cost.map(ralph_core::config::Dollars::get),
            running: Running::No,
            looked: None,
            tail: Tail::default(),
            output: Vec::new(),
            trouble: None,
        })
    }

    /// The plan as it is now. One that cannot be read at this moment stays what it was.
    fn read_plan(&mut self) {
        let args = control::plan_of(self.context, self.follow.history(), &self.asked);
        match self.context.peek_plan(&args) {
            Ok((file, _)) => {
                (self.plan, self.shown, self.trouble) = (file.plan, file.shown, None);
            }
            Err(e) => self.tell_once(e.told()),
        }
    }

    fn tell_once(&mut self, text: String) {
        if self.trouble.as_ref() != Some(&text) {
            self.output.push(Line::of(Style::Bad, &text));
            self.trouble = Some(text);
        }
    }

    /// Which backend wrote a log, as far as the journal knows.
    fn backend_of(&self, log: &std::path::Path) -> Option<String> {
        let name = log.strip_prefix(self.context.project.root()).ok()?.to_string_lossy();
        let attempts = &self.follow.history().attempts;
        let by = attempts.iter().rev().find(|view| view.started.log.as_deref() == Some(&*name));
        by.or(attempts.last()).map(|view| view.started.backend.clone())
    }

    fn follow_log(&mut self) {
        let Some(log) = newest_log(self.context) else { return };
        if self.tail.is_of(&log) {
            return;
        }
        let backend = self.backend_of(&log);
        let driver = backend.and_then(|name| details::driver(self.context, &name).ok().flatten());
        self.output.push(Line::of(Style::Faint, format!("-- {}", self.context.show(&log))));
        self.tail = Tail::of(log, driver.as_deref());
    }
}

/// The log that was written last.
fn newest_log(context: &Context) -> Option<PathBuf> {
    let entries = std::fs::read_dir(context.project.logs_dir()).ok()?;
    let logs = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("ralph-") && name.ends_with(".log")
    });
    let dated = logs.filter_map(|log| Some((log.metadata().ok()?.modified().ok()?, log.path())));
    dated.max().map(|(_, path)| path)
}

impl Source for Window<'_> {
    fn board(&mut self) -> Board {
        if let Err(e) = self.follow.look() {
            self.tell_once(e.to_string());
        }
        if self.looked.is_none_or(|at| at.elapsed() >= NOW_AND_THEN) {
            self.looked = Some(Instant::now());
            self.running = match control::running(self.context) {
                Some(_) => Running::Yes,
                None => Running::No,
            };
            self.read_plan();
            self.follow_log();
        }
        let history = self.follow.history();
        let glance = glance(&self.plan, history, self.running, self.limit);
        let seconds = glance.since.as_deref().and_then(|at| self.context.clock().seconds_since(at));
        let tasks = self.plan.all_tasks();
        let tasks = tasks.iter().filter(|task| self.plan.in_scope(task.spec.as_deref()));
        let open = history.open.as_ref().map(|open| open.started.task.as_str());
        let rows = tasks.map(|task| {
            let runs = open == Some(task.id.as_str());
            TaskRow {
                id: task.id.to_string(),
                state: if runs { "running" } else { task.state.word() }.to_owned(),
                name: task.name.clone(),
                attempts: history.of_task(task.id.as_str()).count(),
                style: if runs { Style::Strong } else { meaning(&task.state) },
            }
        });
        Board { seconds, plan: self.shown.clone(), tasks: rows.collect(), glance }
    }

    fn output(&mut self) -> Option<Vec<Line>> {
        let before = self.output.len();
        let events = self.follow.take_events();
        self.output.extend(events.iter().map(lines::of_event));
        self.tail.read(self.context.project.root().to_str(), &mut self.output);
        if self.output.len() == before {
            return None;
        }
        let extra = self.output.len().saturating_sub(KEPT);
        self.output.drain(..extra);
        Some(self.output.clone())
    }

    fn detail(&mut self, task: &str) -> Vec<Line> {
        lines::of_task(self.context, &self.plan, self.follow.history(), task)
    }

    fn send(&mut self, command: Command) -> String {
        let note = matches!(command, Command::Note(_));
        if control::running(self.context).is_none() && !note {
            return "no loop runs here".to_owned();
        }
        let what = promise(&command, control::doing(self.follow.history()));
        match control::send(self.context, &command) {
            Ok(_) => format!("{}: {what}", command.word()),
            Err(e) => e.told().replace('\n', "; "),
        }
    }
}

fn meaning(state: &State) -> Style {
    match state {
        State::Accepted | State::Done => Style::Good,
        State::Blocked(_) | State::Failed(_) | State::Killed(_) => Style::Bad,
        State::Running => Style::Strong,
        State::Pending => Style::Plain,
        State::Skipped => Style::Faint,
    }
}
