//! The full-screen view of a loop that runs, here or in another terminal.
//!
//! # Theory of operation
//!
//! ```text
//! Source --Board, lines--> App <--keys-- terminal
//!                           └--draw--> terminal        App --command--> Source
//! ```
//!
//! The [`WatchSource`] makes the view model of `ralph_core::dashboard`; the [`WatchApp`] is what is looked at and
//! decides what a key means; [`draw`] makes a picture of it that fits whatever size the terminal has.
//! Both are values, so a test can press keys and look. Only [`run`] touches the terminal, and whatever
//! ends it, a panic included, leaves the terminal as it was. [`HostedScreen`] is the same view in the process
//! of the loop itself, beside it and never in its way.

mod app;
mod draw;
mod head;
mod host;
mod show;

pub use app::{WatchAction, WatchApp, WatchKey, WatchRole};
pub use draw::draw;
pub use host::{HostedScreen, ScreenShow};
pub use show::{ScreenEnd, restore, run};

use ralph_core::control::LoopCommand;
use ralph_core::dashboard::{DashboardState, TaskCard};

use crate::line::ScreenLine;

/// Everything that the screen shows beside output and details.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchBoard {
    /// Answers to the five questions at the top of the screen.
    pub state: DashboardState,
    pub tasks: Vec<TaskCard>,
}

/// Source of the data that the view shows, and receiver of its commands.
pub trait WatchSource {
    /// Return the current state of the loop and its tasks.
    fn board(&mut self) -> WatchBoard;

    /// The newest lines of what goes on, oldest first. `None` when nothing is new.
    fn output(&mut self) -> Option<Vec<ScreenLine>>;

    /// Everything about a task: its attempts, and the patch of the last one.
    fn detail(&mut self, task: &str) -> Vec<ScreenLine>;

    /// Send a command. Returns what will happen, or why nothing will.
    fn send(&mut self, command: LoopCommand) -> String;
}
