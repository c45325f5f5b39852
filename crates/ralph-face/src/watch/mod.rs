//! The full-screen view of a loop that runs, here or in another terminal.
//!
//! # Theory of operation
//!
//! ```text
//! Source --Board, lines--> App <--keys-- terminal
//!                           └--draw--> terminal        App --command--> Source
//! ```
//!
//! The [`Source`] makes the view model of `ralph_core::dashboard`; the [`App`] is what is looked at and
//! decides what a key means; [`draw`] makes a picture of it that fits whatever size the terminal has.
//! Both are values, so a test can press keys and look. Only [`run`] touches the terminal, and whatever
//! ends it, a panic included, leaves the terminal as it was. [`Hosted`] is the same view in the process
//! of the loop itself, beside it and never in its way.

mod app;
mod draw;
mod head;
mod host;
mod show;

pub use app::{Act, App, Key, Role};
pub use draw::draw;
pub use host::{Hosted, Show};
pub use show::{Left, restore, run};

use ralph_core::control::Command;
use ralph_core::dashboard::{Card, State};

use crate::line::Line;

/// Everything that the screen shows beside output and details.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Answers to the five questions at the top of the screen.
    pub state: State,
    pub tasks: Vec<Card>,
}

/// Source of the data that the view shows, and receiver of its commands.
pub trait Source {
    /// Return the current state of the loop and its tasks.
    fn board(&mut self) -> Board;

    /// The newest lines of what goes on, oldest first. `None` when nothing is new.
    fn output(&mut self) -> Option<Vec<Line>>;

    /// Everything about a task: its attempts, and the patch of the last one.
    fn detail(&mut self, task: &str) -> Vec<Line>;

    /// Send a command. Returns what will happen, or why nothing will.
    fn send(&mut self, command: Command) -> String;
}
