//! Plays a recorded run on this terminal: `cargo run -p ralph-face --example play -- [SPEED] [json|quiet]`.

#[path = "../tests/script/mod.rs"]
mod script;

use std::path::Path;
use std::time::{Duration, Instant};

use ralph_face::{ViewChoice, listener};

fn main() {
    let mut args = std::env::args().skip(1);
    let speed: f64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let mode = args.next().unwrap_or_default();
    let view = match mode.as_str() {
        "json" => ViewChoice::Json,
        "quiet" => ViewChoice::Quiet,
        _ => ViewChoice::Auto,
    };
    let mut listener = listener(view, Path::new("/p"));
    let started = Instant::now();
    script::play(|at, event| {
        let due = Duration::from_secs_f64(at.as_secs_f64() / speed);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
        assert!(mode != "panic" || at.as_secs() < 14, "a mistake in the middle of a run");
        listener.on_event(event);
    });
}
