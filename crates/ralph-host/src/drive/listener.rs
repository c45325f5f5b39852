//! Listeners of a loop. They get the events of `events.jsonl` and the live events.

use ralph_core::cycle::LoopEvent;

/// A view of a running loop. Nothing is decided from what it does.
pub trait LoopListener {
    /// Take an event. Called from the loop's own thread.
    fn on_event(&mut self, event: &LoopEvent<'_>);
}

impl<F: FnMut(&LoopEvent<'_>)> LoopListener for F {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        self(event);
    }
}
