//! Opening a page in the user's browser, which is theirs and outlives ralph.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The program that opens files as a double click would.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Open a local page. What it says stays out of the list of processes.
#[expect(clippy::disallowed_methods, reason = "this room is the one that spawns")]
pub fn open_in_browser(page: &Path) -> io::Result<()> {
    let mut command = Command::new(OPENER);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // Somebody has to ask how it ended, or it stays in the list for ever.
    std::thread::spawn(move || child.wait());
    Ok(())
}
