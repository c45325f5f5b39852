//! `ralph watch`: the loop that runs, on a full screen, with keys that steer it.

mod lines;
mod tail;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use ralph_core::control::{LoopCommand, promise};
use ralph_core::cycle::{History, events_of};
use ralph_core::dashboard::{self, command::doing};
use ralph_face::watch::{self, ScreenEnd, WatchBoard, WatchRole, WatchSource};
use ralph_face::{Paint, ScreenLine, ScreenStyle, TerminalAbility};
use ralph_host::drive::ReceivedSignals;
use ralph_host::project_reader::ProjectSnapshot;
use ralph_host::store::JournalTail;

use super::control;
use super::show::details;
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use tail::AttemptLogTail;

/// Lines of output that can be scrolled back to.
const KEPT: usize = 5000;
/// Time between two looks for a running loop and for the newest log.
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

pub(crate) fn run(context: &CommandContext, args: &WatchArgs) -> Result<(), CommandError> {
    let paint = able()?;
    let signals = ReceivedSignals::listen()
        .map_err(|e| CommandError::new(format!("cannot listen for signals: {e}")))?;
    show(context, &args.plan, paint, WatchRole::Guest, &|| signals.first().is_some()).map(drop)
}

/// Whether a screen can be drawn on standard output, and with colours.
pub(super) fn able() -> Result<Paint, CommandError> {
    match TerminalAbility::of_stdout() {
        TerminalAbility::Able(paint) => Ok(paint),
        TerminalAbility::Plain => {
            Err(CommandError::new("this is no terminal that a screen can be drawn on")
                .hint("`ralph status`, `ralph attempts` and `ralph show` print the same"))
        }
    }
}

/// Show the view until it is left or over.
pub(super) fn show(
    context: &CommandContext,
    plan: &PlanArgs,
    paint: Paint,
    role: WatchRole,
    over: &dyn Fn() -> bool,
) -> Result<ScreenEnd, CommandError> {
    let mut window = WatchWindow::open(context, plan)?;
    watch::run(&mut window, paint, role, over)
        .map_err(|e| CommandError::new(format!("the terminal cannot be used: {e}")))
}

struct WatchWindow<'c> {
    context: &'c CommandContext,
    asked: PlanArgs,
    journal: JournalTail,
    history: History,
    /// Lines of events that are not in the output yet.
    events: Vec<ScreenLine>,
    seen: ProjectSnapshot,
    looked: Option<Instant>,
    tail: AttemptLogTail,
    output: Vec<ScreenLine>,
    /// Number of lines of output when the view last got it.
    told: usize,
    /// The last thing that went wrong with looking, so that it is told once.
    trouble: Option<String>,
}

impl<'c> WatchWindow<'c> {
    fn open(context: &'c CommandContext, asked: &PlanArgs) -> Result<Self, CommandError> {
        let history = context.history()?;
        let seen = look(context, &control::plan_of(context, &history, asked))?;
        Ok(Self {
            context,
            asked: asked.clone(),
            journal: JournalTail::new(&context.project.state_dir()),
            history: History::default(),
            events: Vec::new(),
            seen,
            looked: None,
            tail: AttemptLogTail::default(),
            output: Vec::new(),
            told: 0,
            trouble: None,
        })
    }

    /// Read what the journal has that is new.
    fn follow_journal(&mut self) {
        loop {
            let fresh = match self.journal.look() {
                Ok(fresh) => fresh,
                Err(e) => return self.tell_once(e.to_string()),
            };
            if fresh.restarted {
                self.history = History::default();
            }
            for entry in &fresh.entries {
                self.history.add(entry);
                self.events.extend(events_of(entry, &self.history).iter().map(lines::of_event));
            }
            let extra = self.events.len().saturating_sub(KEPT);
            self.events.drain(..extra);
            if !fresh.more {
                return;
            }
        }
    }

    /// The files as they are now. One that cannot be read at this moment stays what it was.
    fn look_around(&mut self) {
        let plan = control::plan_of(self.context, &self.history, &self.asked);
        match look(self.context, &plan) {
            Ok(seen) => (self.seen, self.trouble) = (seen, None),
            Err(e) => self.tell_once(e.told()),
        }
    }

    fn tell_once(&mut self, text: String) {
        if self.trouble.as_ref() != Some(&text) {
            self.output.extend(text.lines().map(|line| ScreenLine::of(ScreenStyle::Bad, line)));
            self.trouble = Some(text);
        }
    }

    /// Return the backend that wrote a log. A log that is not in the journal counts as one of the last
    /// attempt.
    fn backend_of(&self, log: &std::path::Path) -> Option<String> {
        let name = log.strip_prefix(self.context.project.root()).ok()?.to_string_lossy();
        let attempts = &self.history.attempts;
        let by = attempts.iter().rev().find(|view| view.started.log.as_deref() == Some(&*name));
        by.or(attempts.last()).map(|view| view.started.backend.clone())
    }

    /// Append the new lines of the log to the output, and then the events that follow them.
    fn read_on(&mut self) {
        self.tail.read(self.context.project.root().to_str(), &mut self.output);
        self.output.append(&mut self.events);
    }

    fn follow_log(&mut self) {
        let Some(log) = newest_log(self.context) else { return };
        if self.tail.is_of(&log) {
            return;
        }
        // The last words of the old one, and what came of it.
        self.read_on();
        let backend = self.backend_of(&log);
        let driver = backend.and_then(|name| details::driver(self.context, &name).ok().flatten());
        self.output
            .push(ScreenLine::of(ScreenStyle::Faint, format!("-- {}", self.context.show(&log))));
        self.tail = AttemptLogTail::of(log, driver.as_deref());
    }
}

fn look(context: &CommandContext, plan: &PlanArgs) -> Result<ProjectSnapshot, CommandError> {
    Ok(context.reader().snapshot(plan.plan.as_deref())?)
}

fn newest_log(context: &CommandContext) -> Option<PathBuf> {
    let entries = std::fs::read_dir(context.project.logs_dir()).ok()?;
    let logs = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("ralph-") && name.ends_with(".log")
    });
    let dated = logs.filter_map(|log| Some((log.metadata().ok()?.modified().ok()?, log.path())));
    dated.max().map(|(_, path)| path)
}

impl WatchSource for WatchWindow<'_> {
    fn board(&mut self) -> WatchBoard {
        self.follow_journal();
        if self.looked.is_none_or(|at| at.elapsed() >= NOW_AND_THEN) {
            self.looked = Some(Instant::now());
            self.look_around();
            self.follow_log();
        }
        let (seen, now) = (&self.seen, self.context.now());
        let state = dashboard::state(&seen.facts(&self.history, &now, self.tail.meter));
        let plan = &seen.plan.plan;
        let tasks = dashboard::board(plan, &self.history, &seen.running, 0, usize::MAX).tasks;
        WatchBoard { state, tasks }
    }

    fn output(&mut self) -> Option<Vec<ScreenLine>> {
        self.read_on();
        if self.output.len() == self.told {
            return None;
        }
        let extra = self.output.len().saturating_sub(KEPT);
        self.output.drain(..extra);
        self.told = self.output.len();
        Some(self.output.clone())
    }

    fn detail(&mut self, task: &str) -> Vec<ScreenLine> {
        lines::of_task(self.context, &self.seen.plan.plan, &self.history, task)
    }

    fn send(&mut self, command: LoopCommand) -> String {
        let note = matches!(command, LoopCommand::Note(_));
        if control::running(self.context).is_none() && !note {
            return "no loop runs here".to_owned();
        }
        let what = promise(&command, doing(&self.history));
        match control::send(self.context, &command) {
            Ok(_) => format!("{}: {what}", command.word()),
            Err(e) => e.told().replace('\n', "; "),
        }
    }
}
