//! Listeners of a loop. They get the events of `events.jsonl` and the live events.

use ralph_core::cycle::Event;

/// A view of a running loop. Nothing is decided from what it does.
pub trait Listener {
    /// Take an event. Called from the loop's own thread.
    fn on_event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Listener for F {
    fn on_event(&mut self, event: &Event<'_>) {
        self(event);
    }
}
