//! The only writer of ledger files.
//!
//! # Theory of operation
//!
//! A change is read, decided and written under one lock that is held for milliseconds
//! ([`LedgerLock`]), so that many short commands and a long loop can share a plan. There are two
//! ways to write. A single record at the end of a file of records is *appended* with one write and
//! a sync; if the machine dies in the middle, the file ends in a line without its newline, which
//! the next reader recognises, keeps in `<file>.torn`, and goes on without. Everything else is a
//! *replacement*: a new file beside the old one, synced, then renamed over it, so that a reader
//! sees the old text or the new one and nothing between. An error of any kind leaves the file as it
//! was, byte for byte. A file that must not exist yet is *created*, and never over another one.
//!
//! Locks belong to the operating system and go away with the process that held them; the pid
//! written into the lock file is there for the message only.

mod atomic;
mod chain;
mod control;
mod create;
mod held;
mod journal;
mod ledger;
mod lock;
mod said;
mod secret;
mod spill;
mod sync;
mod tail;
mod target;
mod view;

pub use atomic::{TEMP_PREFIX, append, make_directories, replace};
pub use chain::WatchedPlan;
pub use control::CommandQueueContent;
pub use create::{FileCreation, create};
pub use held::HeldFileState;
pub use journal::{
    Durability, Journal, JournalError, is_torn, journal_file, read_entries, read_history,
};
pub use ledger::{
    LedgerFileKind, LedgerRead, LedgerStore, LedgerStoreError, LedgerUpdate, LedgerWrite, TornLine,
    TornLineFinder, update,
};
pub use lock::{LEDGER_WAIT, LedgerLock, LockError, LockHolder, RunLock, who_runs};
pub use said::StoredAgentClaims;
pub use secret::{keep_secret, new_secret, put_private};
pub use spill::SpilledLines;
pub use sync::{BackgroundSync, syncs};
pub use tail::{JournalTail, NewJournalRecords};
pub use target::read;
pub use view::{
    add_to_view, drop_view, free_name, is_spare, put_aside, put_view, swap_view, write_over,
};
