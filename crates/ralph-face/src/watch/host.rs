//! The full-screen view in the process of the loop itself.
//!
//! # Theory of operation
//!
//! ```text
//! loop --notices--> Picture ┐
//!        view thread ends ──┴──> Live: the story so far, and from then on what happens
//! ```
//!
//! The view reads the same files as in another terminal, on a thread of its own, so the loop never
//! waits for it. Meanwhile a [`LoopPicture`] hears what the loop tells. When the view is closed, by a
//! key, by the end of the loop or by a mistake in the view, the usual view takes over where the
//! picture is. The screen opens when the loop begins: what is wrong before that is told as ever.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use ralph_core::cycle::{EventKind, LoopEvent};
use ralph_host::drive::{LoopListener, ReceivedSignals};
use ralph_host::proc::interrupt_self;

use super::{ScreenEnd, restore};
use crate::line::{Paint, ScreenLine, ScreenStyle};
use crate::live::{LiveView, freeze, thaw};
use crate::picture::LoopPicture;
use crate::terminal::stdout_size;

/// Lines of the story that are kept for whoever closes the screen.
const KEPT: usize = 300;

/// Shows the view until it is left, or until it is over.
pub type ScreenShow = Box<dyn FnOnce(&dyn Fn() -> bool) -> Result<ScreenEnd, String> + Send>;

/// A listener with a full screen.
pub struct HostedScreen {
    shared: Arc<SharedHostedScreen>,
    show: Option<ScreenShow>,
    thread: Option<JoinHandle<()>>,
}

struct SharedHostedScreen {
    stage: Mutex<HostedView>,
    over: AtomicBool,
    started: Instant,
    paint: Paint,
}

enum HostedView {
    /// The screen is open, or not open yet.
    Screen(Box<LoopPicture>),
    Live(LiveView),
    Nothing,
}

impl HostedScreen {
    /// A screen that `show` opens when the loop begins.
    pub fn new(picture: LoopPicture, paint: Paint, show: ScreenShow) -> Self {
        ReceivedSignals::before_exit(restore);
        let shared = SharedHostedScreen {
            stage: Mutex::new(HostedView::Screen(Box::new(picture))),
            over: AtomicBool::new(false),
            started: Instant::now(),
            paint,
        };
        Self { shared: Arc::new(shared), show: Some(show), thread: None }
    }

    fn open(&mut self) {
        let Some(show) = self.show.take() else { return };
        let shared = Arc::clone(&self.shared);
        let work = move || shared.show(show);
        match std::thread::Builder::new().name("watch".to_owned()).spawn(work) {
            Ok(thread) => self.thread = Some(thread),
            // No thread to be had: then without a screen.
            Err(_) => self.shared.close(None),
        }
    }
}

impl LoopListener for HostedScreen {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        if matches!(event.kind, EventKind::OrchestratorStart(_)) {
            self.open();
        }
        match &mut *self.shared.lock() {
            HostedView::Screen(picture) => {
                picture.on_event(self.shared.started.elapsed(), &event.kind);
                picture.keep_newest(KEPT);
            }
            HostedView::Live(live) => live.on_event(event),
            HostedView::Nothing => {}
        }
    }
}

impl Drop for HostedScreen {
    fn drop(&mut self) {
        if std::thread::panicking() {
            freeze();
        }
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // What it panicked with was told.
            let _ = thread.join();
        }
        self.shared.close(None);
        // Shows what is left to show, and ends.
        let stage = std::mem::replace(&mut *self.shared.lock(), HostedView::Nothing);
        drop(stage);
    }
}

impl SharedHostedScreen {
    fn lock(&self) -> MutexGuard<'_, HostedView> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, show: ScreenShow) {
        let over = || self.over.load(Ordering::SeqCst);
        match catch_unwind(AssertUnwindSafe(|| show(&over))) {
            Ok(Ok(ScreenEnd::Over)) => {}
            Ok(Ok(ScreenEnd::Quit)) => self.close(Some(
                "The screen is closed and the loop goes on here: Ctrl-C or `ralph stop` ends it after \
                 this attempt, `ralph watch` opens the screen again.",
            )),
            Ok(Ok(ScreenEnd::Interrupted)) => {
                self.close(None);
                interrupt_self();
            }
            Ok(Err(why)) => {
                self.close(Some(&format!("The screen cannot be shown ({why}); the loop goes on.")));
            }
            Err(_) => {
                // The hook has told it and given the terminal back.
                thaw();
                self.close(Some("The screen is gone and the loop goes on here."));
            }
        }
    }

    fn close(&self, word: Option<&str>) {
        let mut stage = self.lock();
        let HostedView::Screen(picture) = &mut *stage else { return };
        let mut picture = std::mem::take(&mut **picture);
        if let Some(word) = word {
            picture.say(ScreenLine::of(ScreenStyle::Strong, word));
        }
        let live = LiveView::go_on(picture, self.started, io::stdout(), self.paint, stdout_size);
        *stage = live.map_or(HostedView::Nothing, HostedView::Live);
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::cycle::{Remark, RunStart};

    use super::*;

    fn begin(hosted: &mut HostedScreen) {
        let run = RunStart::default();
        hosted.on_event(&LoopEvent { timestamp: "", kind: EventKind::OrchestratorStart(&run) });
    }

    fn warn(hosted: &mut HostedScreen, text: &str) {
        let remark = Remark::new(text);
        hosted.on_event(&LoopEvent { timestamp: "", kind: EventKind::Warning(&remark) });
    }

    fn hosted(
        show: impl FnOnce(&dyn Fn() -> bool) -> Result<ScreenEnd, String> + Send + 'static,
    ) -> HostedScreen {
        HostedScreen::new(LoopPicture::new(None), Paint::None, Box::new(show))
    }

    fn is_live(hosted: &HostedScreen) -> bool {
        matches!(&*hosted.shared.lock(), HostedView::Live(_))
    }

    #[test]
    fn a_mistake_in_the_view_ends_the_view_and_not_the_loop() {
        let mut hosted = hosted(|_| std::panic::panic_any("a test wants it"));
        begin(&mut hosted);
        hosted.thread.take().unwrap().join().unwrap();
        assert!(is_live(&hosted), "the usual view has taken over");
        warn(&mut hosted, "the loop goes on");
    }

    #[test]
    fn the_view_opens_with_the_loop_and_is_over_with_it() {
        let (tell, told) = std::sync::mpsc::channel();
        let mut hosted = hosted(move |over| {
            while !over() {
                std::thread::yield_now();
            }
            tell.send(()).unwrap();
            Ok(ScreenEnd::Over)
        });
        warn(&mut hosted, "before the start");
        assert!(hosted.thread.is_none());
        begin(&mut hosted);
        assert!(!is_live(&hosted));
        drop(hosted);
        told.recv().unwrap();
    }
}
