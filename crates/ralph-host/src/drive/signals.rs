//! SIGINT and SIGTERM: the first one asks, the second one insists, the third one does not wait.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use ralph_core::cycle::LoopSignal;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::proc::{CancelToken, on_signals};

/// Function that runs before a third signal ends the program at once.
static LAST_DEED: OnceLock<fn()> = OnceLock::new();

/// Signals that have arrived so far.
#[derive(Clone, Debug, Default)]
pub struct ReceivedSignals {
    first: Arc<AtomicU8>,
    count: Arc<AtomicU8>,
    told: Arc<AtomicBool>,
    cancel: CancelToken,
}

impl ReceivedSignals {
    /// Listen from now on, for the life of the program.
    pub fn listen() -> io::Result<Self> {
        let signals = Self::default();
        let heard = signals.clone();
        on_signals(&[SIGINT, SIGTERM], move |signal| {
            heard.take(if signal == SIGINT {
                LoopSignal::Interrupt
            } else {
                LoopSignal::Terminate
            });
        })?;
        Ok(signals)
    }

    /// Signals that never come, for callers that handle them otherwise.
    pub fn none() -> Self {
        Self::default()
    }

    /// Do this before a third signal ends the program: a terminal may have to be given back.
    pub fn before_exit(deed: fn()) {
        // The first one is as good as any: there is one terminal.
        let _already = LAST_DEED.set(deed);
    }

    fn take(&self, signal: LoopSignal) {
        let code = match signal {
            LoopSignal::Interrupt => 1,
            LoopSignal::Terminate => 2,
        };
        let _later = self.first.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
        match self.count.fetch_add(1, Ordering::Relaxed) {
            0 => {}
            1 => self.cancel.kill(),
            // The supervisor notices the end and kills what is left; the next start recovers.
            _ => {
                if let Some(deed) = LAST_DEED.get() {
                    deed();
                }
                std::process::exit(if code == 1 { 130 } else { 143 })
            }
        }
    }

    /// The first signal, once it has come.
    pub fn first(&self) -> Option<LoopSignal> {
        match self.first.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(LoopSignal::Interrupt),
            _ => Some(LoopSignal::Terminate),
        }
    }

    /// Whether a signal has come and nobody was told: true once in the life of the program.
    pub(super) fn is_news(&self) -> bool {
        self.first().is_some() && !self.told.swap(true, Ordering::Relaxed)
    }

    /// Whether a second one has come: everything is to end at once.
    pub fn insisted(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 1
    }

    /// Ends every job that is given it when a second signal comes.
    pub fn cancel(&self) -> &CancelToken {
        &self.cancel
    }
}
