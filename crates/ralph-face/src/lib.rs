//! What people and programs see of a loop.
//!
//! # Theory of operation
//!
//! A loop tells [`Event`](ralph_core::cycle::Event)s and knows nothing of who listens. Three
//! listeners stand here:
//!
//! ```text
//!            ┌ story ──────────── Lines  one line per thing that matters; or only problems
//! events ────┤   └── picture ──── Live   the same lines, and a small block below them that changes
//!            └ json ───────────── Json   one object a line
//! ```
//!
//! The *story* is what stays on the screen; the *picture* is what is going on right now. Both are
//! values made of values, so that a test can look at them; time comes in as a number. Only [`Live`] has
//! a thread: the loop hands a notice over and goes on, whatever the terminal does. A view that cannot
//! write says nothing and stops nobody.
//!
//! Every text from elsewhere (a plan, a backend, a gate) is made safe before it is shown: nothing in it
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
pub use json::Json;
pub use line::{Line, Paint, Style};
pub use lines::{Detail, Lines};
pub use live::{Live, freeze};
pub use picture::Picture;
pub use ralph_core::words;
pub use screen::{Screen, Size};
pub use story::Story;
pub use terminal::{Terminal, View, listener, stdout_size};
pub use tool::{event_line, tool_words};
