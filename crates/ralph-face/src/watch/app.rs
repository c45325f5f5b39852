//! State of the full-screen view, and the meaning of the keys.

use ralph_core::control::LoopCommand;
use ralph_core::dashboard::TaskCard;
use ralph_core::plan::{Id, TaskStateName};

use super::WatchBoard;
use crate::line::ScreenLine;

/// A key, as far as the view knows keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKey {
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
pub enum WatchAction {
    /// Send this command to the loop.
    Send(LoopCommand),
    /// Fetch the details of the task with this id.
    Detail(String),
    Quit,
    /// User pressed Ctrl-C.
    Interrupt,
}

/// Whose process the view is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchRole {
    /// View in a process of its own, which can be opened and closed at any time.
    Guest,
    /// View in the process of the loop, which Ctrl-C ends.
    Host,
}

/// Half of the screen that the arrow keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchPane {
    Tasks,
    Text,
}

/// Purpose of the text that is typed in the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypingPurpose {
    Note,
    Search,
}

/// Current mode of the view, which decides the meaning of the keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WatchMode {
    Look,
    /// The keys, from this line on.
    Help(usize),
    Typing(TypingPurpose, String),
    /// Something that cannot be taken back.
    Sure(String, LoopCommand),
}

/// State of the full-screen view: its data, its selection and its mode.
#[derive(Clone, Debug)]
pub struct WatchApp {
    pub(super) role: WatchRole,
    pub(super) board: Option<WatchBoard>,
    pub(super) output: Vec<ScreenLine>,
    /// The task whose details are shown instead of the output.
    pub(super) detail: Option<(String, Vec<ScreenLine>)>,
    pub(super) pane: WatchPane,
    pub(super) selected: usize,
    /// Somebody chose a task; until then the one that runs is selected.
    chosen: bool,
    /// Where the task stood whose details are shown.
    detailed: Option<(TaskStateName, usize)>,
    /// The first row that is shown; `None` follows the end.
    pub(super) top: Option<usize>,
    pub(super) search: Option<String>,
    pub(super) mode: WatchMode,
    pub(super) message: String,
    /// Number of rows and number of visible rows, from the last drawing.
    pub(super) rows: (usize, usize),
    /// The rows with the word that is looked for.
    pub(super) found: Vec<usize>,
}

impl WatchApp {
    /// Create a view without any content.
    pub fn new(role: WatchRole) -> Self {
        Self {
            role,
            board: None,
            output: Vec::new(),
            detail: None,
            pane: WatchPane::Tasks,
            selected: 0,
            chosen: false,
            detailed: None,
            top: None,
            search: None,
            mode: WatchMode::Look,
            message: String::new(),
            rows: (0, 1),
            found: Vec::new(),
        }
    }

    pub(super) fn tasks(&self) -> &[TaskCard] {
        self.board.as_ref().map_or(&[], |board| &board.tasks)
    }

    /// Things are like this now. A task that somebody chose stays selected.
    pub fn set_board(&mut self, board: WatchBoard) {
        let chosen = self.task().map(str::to_owned);
        let place = chosen.and_then(|id| board.tasks.iter().position(|task| task.id == id));
        let runs = board.tasks.iter().position(|task| task.state == TaskStateName::Running);
        let place = if self.chosen { place } else { runs.or(place) };
        self.selected = place.unwrap_or(self.selected).min(board.tasks.len().saturating_sub(1));
        self.board = Some(board);
    }

    /// Replace the output by the newest lines.
    pub fn set_output(&mut self, lines: Vec<ScreenLine>) {
        self.output = lines;
    }

    /// Show these details of a task.
    pub fn set_detail(&mut self, task: String, lines: Vec<ScreenLine>) {
        // Details that are shown anew stay where they are.
        let same = self.detail.as_ref().is_some_and(|(shown, _)| *shown == task);
        self.detailed = self.stand(&task);
        self.detail = Some((task, lines));
        if !same {
            (self.top, self.pane) = (Some(0), WatchPane::Text);
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
    pub fn press(&mut self, key: WatchKey) -> Option<WatchAction> {
        if key == WatchKey::Leave {
            return Some(WatchAction::Interrupt);
        }
        match std::mem::replace(&mut self.mode, WatchMode::Look) {
            WatchMode::Help(top) => {
                // A low screen has no room for all of them.
                match key {
                    WatchKey::Up => self.mode = WatchMode::Help(top.saturating_sub(1)),
                    WatchKey::Down => self.mode = WatchMode::Help(top + 1),
                    _ => {}
                }
                None
            }
            WatchMode::Sure(_, command) => match key {
                WatchKey::Char('y' | 'Y') | WatchKey::Enter => Some(WatchAction::Send(command)),
                _ => {
                    self.say("nothing was sent");
                    None
                }
            },
            WatchMode::Typing(what, text) => self.type_in(what, text, key),
            WatchMode::Look => self.look(key),
        }
    }

    fn type_in(
        &mut self,
        what: TypingPurpose,
        mut text: String,
        key: WatchKey,
    ) -> Option<WatchAction> {
        match key {
            WatchKey::Char(c) => text.push(c),
            WatchKey::Backspace => _ = text.pop(),
            WatchKey::Escape => return None,
            WatchKey::Enter => {
                let text = text.trim().to_owned();
                return match what {
                    _ if text.is_empty() => {
                        self.search = None;
                        None
                    }
                    TypingPurpose::Note => Some(WatchAction::Send(LoopCommand::Note(text))),
                    TypingPurpose::Search => {
                        (self.search, self.pane) = (Some(text), WatchPane::Text);
                        self.top = self.top.or(Some(0));
                        self.message = "`.` next, `,` previous".into();
                        None
                    }
                };
            }
            _ => {}
        }
        self.mode = WatchMode::Typing(what, text);
        None
    }

    fn look(&mut self, key: WatchKey) -> Option<WatchAction> {
        self.message.clear();
        match key {
            WatchKey::Char('q') => return Some(WatchAction::Quit),
            WatchKey::Char('?') => self.mode = WatchMode::Help(0),
            WatchKey::Char('p') => return Some(WatchAction::Send(LoopCommand::Pause)),
            WatchKey::Char('r') => return Some(WatchAction::Send(LoopCommand::Resume)),
            WatchKey::Char('n') => {
                self.mode = WatchMode::Typing(TypingPurpose::Note, String::new())
            }
            WatchKey::Char('/') => {
                self.mode = WatchMode::Typing(TypingPurpose::Search, String::new())
            }
            WatchKey::Char('x') => self.ask("end the loop after this attempt?", LoopCommand::Stop),
            WatchKey::Char('K') => self.ask("end this attempt now?", LoopCommand::KillAttempt),
            WatchKey::Char('s') => match self.task().map(str::to_owned) {
                Some(id) => self.ask(&format!("leave {id} out?"), LoopCommand::Skip(Id::new(id))),
                None => self.say("there is no task to skip"),
            },
            WatchKey::Char('.') => self.jump(SearchDirection::Next),
            WatchKey::Char(',') => self.jump(SearchDirection::Previous),
            WatchKey::Enter => return self.task().map(|id| WatchAction::Detail(id.to_owned())),
            WatchKey::Escape if self.detail.is_some() => (self.detail, self.top) = (None, None),
            WatchKey::Escape => (self.search, self.top, self.chosen) = (None, None, false),
            WatchKey::Tab => {
                self.pane = match self.pane {
                    WatchPane::Tasks => WatchPane::Text,
                    WatchPane::Text => WatchPane::Tasks,
                };
            }
            other => self.go(other),
        }
        None
    }

    fn ask(&mut self, question: &str, command: LoopCommand) {
        self.mode = WatchMode::Sure(question.to_owned(), command);
    }

    fn go(&mut self, key: WatchKey) {
        let (all, fit) = match self.pane {
            WatchPane::Tasks => (self.tasks().len(), self.rows.1),
            WatchPane::Text => self.rows,
        };
        let last = match self.pane {
            WatchPane::Tasks => all.saturating_sub(1),
            WatchPane::Text => all.saturating_sub(fit),
        };
        let now = match self.pane {
            WatchPane::Tasks => self.selected,
            WatchPane::Text => self.top.unwrap_or(last).min(last),
        };
        let page = fit.saturating_sub(1).max(1);
        let to = match key {
            WatchKey::Up | WatchKey::Char('k') => now.saturating_sub(1),
            WatchKey::Down | WatchKey::Char('j') => now + 1,
            WatchKey::PageUp | WatchKey::Char('b') => now.saturating_sub(page),
            WatchKey::PageDown | WatchKey::Char(' ') => now + page,
            WatchKey::Home | WatchKey::Char('g') => 0,
            WatchKey::End | WatchKey::Char('G') => last,
            _ => return,
        };
        match self.pane {
            WatchPane::Tasks => (self.selected, self.chosen) = (to.min(last), true),
            // At the end the view follows again.
            WatchPane::Text => self.top = (to < last).then_some(to),
        }
    }

    fn jump(&mut self, jump: SearchDirection) {
        let now = self.top.unwrap_or(self.rows.0);
        let place = match jump {
            SearchDirection::Next => {
                self.found.iter().find(|row| **row > now).or(self.found.first())
            }
            SearchDirection::Previous => {
                self.found.iter().rfind(|row| **row < now).or(self.found.last())
            }
        };
        match place {
            Some(row) => (self.top, self.pane) = (Some(*row), WatchPane::Text),
            None => self.say("nothing was found"),
        }
    }
}

enum SearchDirection {
    Next,
    Previous,
}
