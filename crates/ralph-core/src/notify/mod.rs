//! Notifications: what happened, in the shape that each kind of receiver takes.
//!
//! # Theory of operation
//!
//! ```text
//! Happening --Message::of(kind, address)--> Desktop | Command | Post   (the host delivers it)
//! ```
//!
//! A [`ProjectEvent`] is one thing that a person may want to hear of while nobody looks. It has one title
//! and one text, and every receiver gets those two in its own shape; a command and a plain webhook get
//! all of it as JSON too. The address of a receiver is a secret: it comes in as a value, goes out in
//! [`WebhookPost`] alone, and no `Debug` or error shows it.

mod happening;
mod message;

pub use happening::{ProjectEvent, ProjectEventKind, ProjectEventReport};
pub use message::{NotificationMessage, WebhookPost};

#[cfg(test)]
#[path = "notify_tests.rs"]
mod tests;
