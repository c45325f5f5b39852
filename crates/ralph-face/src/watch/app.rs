//! State of the full-screen view, and the meaning of the keys.

use ralph_core::control::Command;
use ralph_core::dashboard::Card;
use ralph_core::plan::{Id, TaskStateName};

use super::Board;
use crate::line::Line;

/// A key, as far as the view knows keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Ctrl-C or Ctrl-D, which leaves the view in every mode.
    Leave,
}

/// Action that the caller of the view has to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Send this command to the loop.
    Send(Command),
    /// Fetch the details of the task with this id.
    Detail(String),
    Quit,
    /// User pressed Ctrl-C.
    Interrupt,
}

/// Whose process the view is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// View in a process of its own, which can be opened and closed at any time.
    Guest,
    /// View in the process of the loop, which Ctrl-C ends.
    Host,
}

/// Half of the screen that the arrow keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Tasks,
    Text,
}

/// Purpose of the text that is typed in the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    Note,
    Search,
}

/// Current mode of the view, which decides the meaning of the keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mode {
    Look,
    /// The keys, from this line on.
    Help(usize),
    Typing(Typing, String),
    /// Something that cannot be taken back.
    Sure(String, Command),
}

/// State of the full-screen view: its data, its selection and its mode.
#[derive(Clone, Debug)]
pub struct App {
    pub(super) role: Role,
    pub(super) board: Option<Board>,
    pub(super) output: Vec<Line>,
    /// The task whose details are shown instead of the output.
    pub(super) detail: Option<(String, Vec<Line>)>,
    pub(super) pane: Pane,
    pub(super) selected: usize,
    /// Somebody chose a task; until then the one that runs is selected.
    chosen: bool,
    /// Where the task stood whose details are shown.
    detailed: Option<(TaskStateName, usize)>,
    /// The first row that is shown; `None` follows the end.
    pub(super) top: Option<usize>,
    pub(super) search: Option<String>,
    pub(super) mode: Mode,
    pub(super) message: String,
    /// Number of rows and number of visible rows, from the last drawing.
    pub(super) rows: (usize, usize),
    /// The rows with the word that is looked for.
    pub(super) found: Vec<usize>,
}

impl App {
    /// Create a view without any content.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            board: None,
            output: Vec::new(),
            detail: None,
            pane: Pane::Tasks,
            selected: 0,
            chosen: false,
            detailed: None,
            top: None,
            search: None,
            mode: Mode::Look,
            message: String::new(),
            rows: (0, 1),
            found: Vec::new(),
        }
    }

    pub(super) fn tasks(&self) -> &[Card] {
        self.board.as_ref().map_or(&[], |board| &board.tasks)
    }

    /// Things are like this now. A task that somebody chose stays selected.
    pub fn set_board(&mut self, board: Board) {
        let chosen = self.task().map(str::to_owned);
        let place = chosen.and_then(|id| board.tasks.iter().position(|task| task.id == id));
        let runs = board.tasks.iter().position(|task| task.state == TaskStateName::Running);
        let place = if self.chosen { place } else { runs.or(place) };
        self.selected = place.unwrap_or(self.selected).min(board.tasks.len().saturating_sub(1));
        self.board = Some(board);
    }

    /// Replace the output by the newest lines.
    pub fn set_output(&mut self, lines: Vec<Line>) {
        self.output = lines;
    }

    /// Show these details of a task.
    pub fn set_detail(&mut self, task: String, lines: Vec<Line>) {
        // Details that are shown anew stay where they are.
        let same = self.detail.as_ref().is_some_and(|(shown, _)| *shown == task);
        self.detailed = self.stand(&task);
        self.detail = Some((task, lines));
        if !same {
            (self.top, self.pane) = (Some(0), Pane::Text);
        }
    }

    /// The task whose details are shown and no longer true.
    pub fn outdated(&self) -> Option<&str> {
        let (task, _) = self.detail.as_ref()?;
        (self.stand(task) != self.detailed).then_some(task)
    }

    fn stand(&self, task: &str) -> Option<(TaskStateName, usize)> {
        let card = self.tasks().iter().find(|card| card.id == task)?;
        Some((card.state, card.attempts))
    }

    /// Say something in the last line.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = message.into();
    }

    /// Return the id of the selected task.
    pub fn task(&self) -> Option<&str> {
        self.tasks().get(self.selected).map(|task| task.id.as_str())
    }

    /// Handle a key. Return the action that the caller has to carry out, if there is one.
    pub fn press(&mut self, key: Key) -> Option<Act> {
        if key == Key::Leave {
            return Some(Act::Interrupt);
        }
        match std::mem::replace(&mut self.mode, Mode::Look) {
            Mode::Help(top) => {
                // A low screen has no room for all of them.
                match key {
                    Key::Up => self.mode = Mode::Help(top.saturating_sub(1)),
                    Key::Down => self.mode = Mode::Help(top + 1),
                    _ => {}
                }
                None
            }
            Mode::Sure(_, command) => match key {
                Key::Char('y' | 'Y') | Key::Enter => Some(Act::Send(command)),
                _ => {
                    self.say("nothing was sent");
                    None
                }
            },
            Mode::Typing(what, text) => self.type_in(what, text, key),
            Mode::Look => self.look(key),
        }
    }

    fn type_in(&mut self, what: Typing, mut text: String, key: Key) -> Option<Act> {
        match key {
            Key::Char(c) => text.push(c),
            Key::Backspace => _ = text.pop(),
            Key::Escape => return None,
            Key::Enter => {
                let text = text.trim().to_owned();
                return match what {
                    _ if text.is_empty() => {
                        self.search = None;
                        None
                    }
                    Typing::Note => Some(Act::Send(Command::Note(text))),
                    Typing::Search => {
                        (self.search, self.pane) = (Some(text), Pane::Text);
                        self.top = self.top.or(Some(0));
                        self.message = "`.` next, `,` previous".into();
                        None
                    }
                };
            }
            _ => {}
        }
        self.mode = Mode::Typing(what, text);
        None
    }

    fn look(&mut self, key: Key) -> Option<Act> {
        self.message.clear();
        match key {
            Key::Char('q') => return Some(Act::Quit),
            Key::Char('?') => self.mode = Mode::Help(0),
            Key::Char('p') => return Some(Act::Send(Command::Pause)),
            Key::Char('r') => return Some(Act::Send(Command::Resume)),
            Key::Char('n') => self.mode = Mode::Typing(Typing::Note, String::new()),
            Key::Char('/') => self.mode = Mode::Typing(Typing::Search, String::new()),
            Key::Char('x') => self.ask("end the loop after this attempt?", Command::Stop),
            Key::Char('K') => self.ask("end this attempt now?", Command::KillAttempt),
            Key::Char('s') => match self.task().map(str::to_owned) {
                Some(id) => self.ask(&format!("leave {id} out?"), Command::Skip(Id::new(id))),
                None => self.say("there is no task to skip"),
            },
            Key::Char('.') => self.jump(Jump::Next),
            Key::Char(',') => self.jump(Jump::Previous),
            Key::Enter => return self.task().map(|id| Act::Detail(id.to_owned())),
            Key::Escape if self.detail.is_some() => (self.detail, self.top) = (None, None),
            Key::Escape => (self.search, self.top, self.chosen) = (None, None, false),
            Key::Tab => {
                self.pane = match self.pane {
                    Pane::Tasks => Pane::Text,
                    Pane::Text => Pane::Tasks,
                };
            }
            other => self.go(other),
        }
        None
    }

    fn ask(&mut self, question: &str, command: Command) {
        self.mode = Mode::Sure(question.to_owned(), command);
    }

    fn go(&mut self, key: Key) {
        let (all, fit) = match self.pane {
            Pane::Tasks => (self.tasks().len(), self.rows.1),
            Pane::Text => self.rows,
        };
        let last = match self.pane {
            Pane::Tasks => all.saturating_sub(1),
            Pane::Text => all.saturating_sub(fit),
        };
        let now = match self.pane {
            Pane::Tasks => self.selected,
            Pane::Text => self.top.unwrap_or(last).min(last),
        };
        let page = fit.saturating_sub(1).max(1);
        let to = match key {
            Key::Up | Key::Char('k') => now.saturating_sub(1),
            Key::Down | Key::Char('j') => now + 1,
            Key::PageUp | Key::Char('b') => now.saturating_sub(page),
            Key::PageDown | Key::Char(' ') => now + page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => last,
            _ => return,
        };
        match self.pane {
            Pane::Tasks => (self.selected, self.chosen) = (to.min(last), true),
            // At the end the view follows again.
            Pane::Text => self.top = (to < last).then_some(to),
        }
    }

    fn jump(&mut self, jump: Jump) {
        let now = self.top.unwrap_or(self.rows.0);
        let place = match jump {
            Jump::Next => self.found.iter().find(|row| **row > now).or(self.found.first()),
            Jump::Previous => self.found.iter().rfind(|row| **row < now).or(self.found.last()),
        };
        match place {
            Some(row) => (self.top, self.pane) = (Some(*row), Pane::Text),
            None => self.say("nothing was found"),
        }
    }
}

enum Jump {
    Next,
    Previous,
}
