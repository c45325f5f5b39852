//! Ctrl-C and its kin: the first one asks a job to end, the next one kills it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::job::Cancel;

/// Listens for signals from its making to the end of the process.
#[derive(Clone, Debug)]
pub struct Interrupt {
    /// The number of the last signal.
    came: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Let signals that would end ralph end the jobs of `cancel` instead.
    pub fn cancels(cancel: &Cancel) -> io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        let (mut here, there) = UnixStream::pair()?;
        for (signal, number) in [(SIGHUP, 1), (SIGINT, 2), (SIGTERM, 15)] {
            // In this order: who hears the bell can read the number.
            signal_hook::flag::register_usize(signal, came.clone(), number)?;
            signal_hook::low_level::pipe::register(signal, there.try_clone()?)?;
        }
        let cancel = cancel.clone();
        thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            // Keep one end of our own: this thread ends with the process and not before.
            let _there = there;
            let mut ring = [0];
            if here.read_exact(&mut ring).is_ok() {
                cancel.cancel();
            }
            if here.read_exact(&mut ring).is_ok() {
                cancel.kill();
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
