//! Ctrl-C and its kin: a way to hear signals, and a job that ends when one comes.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::job::CancelToken;

/// Call `hear` with each of these signals that comes, on a thread of its own, for the life of the
/// process.
pub fn on_signals(signals: &[i32], hear: impl Fn(i32) + Clone + Send + 'static) -> io::Result<()> {
    for &signal in signals {
        let (mut here, there) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(signal, there)?;
        let hear = hear.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut ring = [0];
            while here.read_exact(&mut ring).is_ok() {
                hear(signal);
            }
        })?;
    }
    Ok(())
}

/// Send this process the signal of Ctrl-C, which a terminal in raw mode does not send.
pub fn interrupt_self() {
    // We are here, and may.
    let _sent =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
}

/// Listens for signals from its making to the end of the process: the first one asks a job to end, the
/// next one kills it.
#[derive(Clone, Debug)]
pub struct InterruptListener {
    /// The number of the first signal.
    came: Arc<AtomicI32>,
}

impl InterruptListener {
    /// Let signals that would end ralph end the jobs of `cancel` instead.
    pub fn cancels(cancel: &CancelToken) -> io::Result<Self> {
        let came = Arc::new(AtomicI32::new(0));
        let (first, cancel) = (came.clone(), cancel.clone());
        on_signals(&[SIGHUP, SIGINT, SIGTERM], move |signal| {
            match first.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => cancel.cancel(),
                Err(_) => cancel.kill(),
            }
        })?;
        Ok(Self { came })
    }

    /// The exit code that says which signal came, as shells count; `None` if none did.
    pub fn exit_code(&self) -> Option<u8> {
        match self.came.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}
