//! The live view: a thread that draws, so that the loop never waits for a terminal.
//!
//! # Theory of operation
//!
//! [`LoopListener::on_event`] changes the picture under a lock and wakes the thread; that is all the loop pays. The
//! thread draws at most every [`FRAME`], and once a [`TICK`] when nothing happens, for the clocks and the
//! size of the window. Dropping the view draws the last frame and ends the thread. A panic leaves the
//! last frame where it is, with the message below it: [`freeze`] sees to that.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ralph_core::cycle::LoopEvent;
use ralph_host::drive::LoopListener;

use crate::line::Paint;
use crate::picture::LoopPicture;
use crate::screen::{Screen, ScreenSize};

/// Shortest time between two frames of the live view.
const FRAME: Duration = Duration::from_millis(80);
/// Most time between two looks at clocks and window.
const TICK: Duration = Duration::from_secs(1);

static FROZEN: AtomicBool = AtomicBool::new(false);

/// Nothing more is drawn, by anybody: something else has to be said now, and the program ends.
pub fn freeze() {
    FROZEN.store(true, Ordering::SeqCst);
    crate::watch::restore();
}

/// A panic that ended only a view was told, and the loop goes on.
pub(crate) fn thaw() {
    FROZEN.store(false, Ordering::SeqCst);
}

/// View that redraws a block below its lines, in a thread of its own.
pub struct LiveView {
    shared: Arc<SharedLiveView>,
    thread: Option<JoinHandle<()>>,
}

struct SharedLiveView {
    state: Mutex<LiveViewState>,
    woken: Condvar,
    started: Instant,
}

struct LiveViewState {
    picture: LoopPicture,
    changed: bool,
    over: bool,
}

impl LiveView {
    /// Begin to draw on `out`. `size` is asked for each frame.
    pub fn start<W, S>(picture: LoopPicture, out: W, paint: Paint, size: S) -> std::io::Result<Self>
    where
        W: Write + Send + 'static,
        S: Fn() -> ScreenSize + Send + 'static,
    {
        Self::go_on(picture, Instant::now(), out, paint, size)
    }

    /// The same with a picture of something that began earlier.
    pub fn go_on<W, S>(
        picture: LoopPicture,
        started: Instant,
        out: W,
        paint: Paint,
        size: S,
    ) -> std::io::Result<Self>
    where
        W: Write + Send + 'static,
        S: Fn() -> ScreenSize + Send + 'static,
    {
        let state = LiveViewState { picture, changed: false, over: false };
        let shared =
            Arc::new(SharedLiveView { state: Mutex::new(state), woken: Condvar::new(), started });
        let screen = Screen::new(out, paint);
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("view".to_owned())
            .spawn(move || draw_until_over(&theirs, screen, &size))?;
        Ok(Self { shared, thread: Some(thread) })
    }
}

impl LoopListener for LiveView {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        let now = self.shared.started.elapsed();
        let mut state = self.shared.lock();
        state.picture.on_event(now, &event.kind);
        state.changed = true;
        self.shared.woken.notify_one();
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        if std::thread::panicking() {
            freeze();
        }
        self.shared.lock().over = true;
        self.shared.woken.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to draw.
            let _ = thread.join();
        }
    }
}

impl SharedLiveView {
    /// The state, also after somebody panicked: it is only shown.
    fn lock(&self) -> MutexGuard<'_, LiveViewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw_until_over<W: Write>(
    shared: &SharedLiveView,
    mut screen: Screen<W>,
    size: &dyn Fn() -> ScreenSize,
) {
    loop {
        let quiet = |state: &mut LiveViewState| !state.changed && !state.over;
        let waited = shared.woken.wait_timeout_while(shared.lock(), TICK, quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.changed = false;
        let over = state.over;
        if over {
            // An error ended the loop: what it was doing must not vanish with the block.
            state.picture.end();
        }
        let size = size();
        let finished = state.picture.take_finished();
        let block = state.picture.block(shared.started.elapsed(), size);
        // Whoever has something to tell must not wait for the terminal.
        drop(state);
        if FROZEN.load(Ordering::SeqCst) {
            return;
        }
        // Nobody can be told that the terminal is gone.
        let _ = screen.draw(size, &finished, block);
        if over {
            return;
        }
        std::thread::sleep(FRAME);
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::cycle::{EventKind, Remark};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_was_told_is_on_the_screen_when_the_view_is_gone_and_the_block_is_not() {
        let sink = Sink::default();
        let size = || ScreenSize { columns: 80, rows: 24 };
        let mut live =
            LiveView::start(LoopPicture::new(None), sink.clone(), Paint::None, size).unwrap();
        for n in 0..100 {
            let remark = Remark::new(format!("number {n}"));
            live.on_event(&LoopEvent { timestamp: "", kind: EventKind::Warning(&remark) });
        }
        drop(live);
        let out = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        for n in 0..100 {
            assert!(out.contains(&format!("Warning: number {n}\n")), "{out}");
        }
        assert!(out.ends_with("\x1b[J") || out.ends_with("number 99\n"), "{out:?}");
    }
}
