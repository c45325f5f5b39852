//! Waiting until a file changes.
//!
//! The system tells when something happens in the directory of a file, and the file's stamp tells
//! whether it happened to the file. Where the system will not tell (no notification, too many watches),
//! the stamp alone is looked at whenever somebody waits: slower by one timeout, and never deaf.

use std::fs::metadata;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Whether something happened while somebody waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A file changed, came or went.
    Changed,
    /// Nothing happened.
    None,
}

/// Files that somebody waits for.
#[derive(Debug)]
pub struct Watch {
    seen: Vec<(PathBuf, Stamp)>,
    wake: Receiver<()>,
    /// Tells as long as it lives.
    _system: Option<RecommendedWatcher>,
}

/// How long a file is and when it was changed; `None` when it is not there.
type Stamp = Option<(u64, Option<SystemTime>)>;

impl Watch {
    /// Watch these files from now on, whether they are there or not.
    pub fn on(paths: &[&Path]) -> Self {
        let (tell, wake) = channel();
        let system = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is no news, and would be ours.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                let _nobody_waits_any_more = tell.send(());
            }
        });
        let system = system.ok().and_then(|mut system| {
            for directory in paths.iter().filter_map(|path| path.parent()) {
                system.watch(directory, RecursiveMode::NonRecursive).ok()?;
            }
            Some(system)
        });
        let seen = paths.iter().map(|path| ((*path).to_owned(), stamp(path))).collect();
        Self { seen, wake, _system: system }
    }

    /// Wait until one of them is not as it was when this was last asked, but not longer than `most`.
    pub fn wait(&mut self, most: Duration) -> News {
        if self.look() == News::Changed {
            return News::Changed;
        }
        match self.wake.recv_timeout(most) {
            Err(RecvTimeoutError::Disconnected) => thread::sleep(most),
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
        }
        self.look()
    }

    fn look(&mut self) -> News {
        let mut news = News::None;
        for (path, seen) in &mut self.seen {
            let now = stamp(path);
            if now != *seen {
                *seen = now;
                news = News::Changed;
            }
        }
        news
    }
}

fn stamp(path: &Path) -> Stamp {
    let meta = metadata(path).ok()?;
    Some((meta.len(), meta.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{drop_view, put_view};

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_file_that_comes_changes_or_goes_is_news_and_another_one_is_not() {
        let place = tempfile::tempdir().unwrap();
        let (file, other) = (place.path().join("inbox"), place.path().join("other"));
        let mut watch = Watch::on(&[&file]);
        put_view(&other, b"x").unwrap();
        assert_eq!(watch.wait(Duration::from_millis(50)), News::None);
        put_view(&file, b"one").unwrap();
        assert_eq!(watch.wait(LONG), News::Changed);
        put_view(&file, b"longer").unwrap();
        assert_eq!(watch.wait(LONG), News::Changed);
        drop_view(&file).unwrap();
        assert_eq!(watch.wait(LONG), News::Changed);
        assert_eq!(watch.wait(Duration::from_millis(1)), News::None);
    }

    #[test]
    fn whoever_waits_is_woken_by_the_change() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("inbox");
        let mut watch = Watch::on(&[&file]);
        let writer = thread::spawn(move || put_view(&file, b"one"));
        // Other files may wake it, too.
        while watch.wait(LONG) == News::None {}
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_directory_that_is_not_there_is_looked_at_without_the_help_of_the_system() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("not-there/inbox");
        let mut watch = Watch::on(&[&file]);
        put_view(&file, b"one").unwrap();
        assert_eq!(watch.wait(Duration::from_millis(1)), News::Changed);
    }
}
