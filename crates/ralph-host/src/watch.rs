//! Hearing that a file has changed.
//!
//! # Theory of operation
//!
//! What counts is the *stamp* of each file: when it was written, how long it is, which file it is. The
//! operating system's notification only says when to look again, and is kept on the directories, since
//! ledger files are replaced and not rewritten. Where it is not to be had (a network disk, a limit of
//! the system), a look now and then does the same, later.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Time between two looks where nobody says that something changed.
const LOOK: Duration = Duration::from_millis(500);
/// The same where somebody does, for what is not told.
const LOOK_TWICE: Duration = Duration::from_secs(2);

/// Hears of changes of a few files.
#[derive(Debug)]
pub struct FileWatch {
    paths: Vec<PathBuf>,
    seen: Vec<Option<WatchedFileStamp>>,
    ears: Option<FileWatchEvents>,
}

/// State of a file: inode, length, and modification time in seconds and nanoseconds.
type WatchedFileStamp = (u64, u64, i64, i64);

#[derive(Debug)]
struct FileWatchEvents {
    /// Tells as long as it lives.
    _watcher: RecommendedWatcher,
    told: Receiver<()>,
}

impl FileWatch {
    /// Watch these files, which need not exist. What they are now is known.
    pub fn on(paths: Vec<PathBuf>) -> Self {
        let ears = FileWatchEvents::on(&paths);
        let seen = stamps(&paths);
        Self { paths, seen, ears }
    }

    /// Wait until one of the files is not what it was at the last call, but no longer than `most`.
    pub fn changed(&mut self, most: Duration) -> bool {
        let end = Instant::now().checked_add(most);
        loop {
            let now = stamps(&self.paths);
            if now != self.seen {
                self.seen = now;
                return true;
            }
            let left = end.map_or(LOOK_TWICE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            self.listen(left);
        }
    }

    fn listen(&mut self, most: Duration) {
        let Some(ears) = &self.ears else { return std::thread::sleep(most.min(LOOK)) };
        if ears.told.recv_timeout(most.min(LOOK_TWICE)).is_err() {
            // Either nothing was told, or nobody will tell any more: then there is no waiting on it.
            if let Err(std::sync::mpsc::TryRecvError::Disconnected) = ears.told.try_recv() {
                self.ears = None;
            }
        }
    }
}

impl FileWatchEvents {
    fn on(paths: &[PathBuf]) -> Option<Self> {
        let (tell, told) = sync_channel(1);
        let mut watcher = notify::recommended_watcher(move |_| {
            // One word is enough, however much happens.
            let _already_told = tell.try_send(());
        })
        .ok()?;
        let mut directories: Vec<_> = paths.iter().filter_map(|path| path.parent()).collect();
        directories.sort_unstable();
        directories.dedup();
        for directory in directories {
            // One that is not there yet is looked at now and then, as all are.
            let _unheard = watcher.watch(directory, RecursiveMode::NonRecursive);
        }
        Some(Self { _watcher: watcher, told })
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<WatchedFileStamp>> {
    let stamp = |path: &PathBuf| {
        let meta = fs::metadata(path).ok()?;
        Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
    };
    paths.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{add_to_view, drop_view, put_view};

    const AGES: Duration = Duration::from_secs(60);

    #[test]
    fn a_file_that_comes_changes_is_replaced_or_goes_is_heard_of() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("inbox.jsonl");
        let mut watch = FileWatch::on(vec![file.clone()]);
        assert!(!watch.changed(Duration::ZERO));
        put_view(&file, b"one\n").unwrap();
        assert!(watch.changed(AGES));
        add_to_view(&file, b"two\n").unwrap();
        assert!(watch.changed(AGES));
        put_view(&file, b"six\nsix\n").unwrap();
        assert!(watch.changed(AGES));
        drop_view(&file).unwrap();
        assert!(watch.changed(AGES));
        assert!(!watch.changed(Duration::ZERO), "each change once");
    }

    #[test]
    fn a_change_wakes_whoever_waits_and_neighbours_do_not() {
        let place = tempfile::tempdir().unwrap();
        let (file, other) = (place.path().join("a"), place.path().join("b"));
        let mut watch = FileWatch::on(vec![file.clone()]);
        put_view(&other, b"x").unwrap();
        assert!(!watch.changed(Duration::from_millis(50)));
        let writer = std::thread::spawn(move || put_view(&file, b"x").unwrap());
        assert!(watch.changed(AGES));
        writer.join().unwrap();
    }

    #[test]
    fn without_notification_a_look_now_and_then_does_the_same() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("not/yet/there");
        let mut watch = FileWatch::on(vec![file.clone()]);
        watch.ears = None;
        put_view(&file, b"x").unwrap();
        assert!(watch.changed(AGES));
    }
}
