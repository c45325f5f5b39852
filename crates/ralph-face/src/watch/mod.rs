//! The full-screen view of a loop that runs, here or in another terminal.
//!
//! # Theory of operation
//!
//! ```text
//! Source --Board, lines--> App <--keys-- terminal
//!                           └--draw--> terminal        App --command--> Source
//! ```
//!
//! The [`Source`] knows where journal, plan and logs are; the [`App`] is what is looked at and decides
//! what a key means; [`draw`] makes a picture of it that fits whatever size the terminal has. Both are
//! values, so a test can press keys and look. Only [`run`] touches the terminal, and whatever ends it,
//! a panic included, leaves the terminal as it was.

mod app;
mod draw;
mod show;

pub use app::{Act, App, Key};
pub use draw::{Colours, draw};
pub use show::{restore, run};

use ralph_core::control::Command;
use ralph_core::view::Glance;

use crate::line::{Line, Style};

/// Everything that the screen shows beside output and details.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// The five answers.
    pub glance: Glance,
    /// How long what runs has been running, in seconds.
    pub seconds: Option<u64>,
    /// The plan file.
    pub plan: String,
    /// The tasks.
    pub tasks: Vec<TaskRow>,
}

/// One task of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub id: String,
    /// Where it stands, in a word.
    pub state: String,
    /// What it is called.
    pub name: String,
    /// How often it was tried.
    pub attempts: usize,
    /// What its state means.
    pub style: Style,
}

/// Where the view looks, and whom it talks to.
pub trait Source {
    /// How things are now.
    fn board(&mut self) -> Board;

    /// The newest lines of what goes on, oldest first. `None` when nothing is new.
    fn output(&mut self) -> Option<Vec<Line>>;

    /// Everything about a task: its attempts, and the patch of the last one.
    fn detail(&mut self, task: &str) -> Vec<Line>;

    /// Send a command. Returns what will happen, or why nothing will.
    fn send(&mut self, command: Command) -> String;
}
