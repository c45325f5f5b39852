//! Views of a loop, for people and programs.
//!
//! # Theory of operation
//!
//! A loop sends [`LoopEvent`](ralph_core::cycle::LoopEvent)s and does not know its listeners. This crate has
//! three listeners:
//!
//! ```text
//!            ┌ story ──────────── Lines  one line per thing that matters; or only problems
//! events ────┤   └── picture ──── Live   the same lines, and a small block below them that changes
//!            └ json ───────────── Json   one object a line
//! ```
//!
//! The *story* is the part that stays on the screen. The *picture* is the current state. Both are plain
//! values, so that a test can look at them; time is passed in as a number. Only [`LiveView`] has a thread.
//! The loop hands over a notice and goes on, whatever the terminal does. A view that cannot write
//! reports nothing and stops nothing.
//!
//! Every text from outside (a plan, a backend, a gate) is made safe before it is shown. Nothing in it
//! can move the cursor or change colours.

mod ending;
mod json;
mod line;
mod lines;
mod live;
mod picture;
mod screen;
mod story;
mod terminal;
pub mod text;
mod tool;
pub mod watch;

pub use ending::ending;
pub use json::JsonListener;
pub use line::{Paint, ScreenLine, ScreenStyle};
pub use lines::{LineView, LineViewDetail};
pub use live::{LiveView, freeze};
pub use picture::LoopPicture;
pub use ralph_core::words;
pub use screen::{Screen, ScreenSize};
pub use story::EventStory;
pub use terminal::{TerminalAbility, ViewChoice, listener, stdout_size};
pub use tool::{event_line, tool_words};
