//! A disk that really gets full.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A file system of a few kilobytes, mounted for one test.
#[derive(Debug)]
pub struct SmallDisk {
    place: TempDir,
}

impl SmallDisk {
    /// Mount a disk of `kilobytes`. Only root may; otherwise the test named `test` is reported as
    /// skipped and gets `None`.
    pub fn mount(test: &str, kilobytes: u32) -> Option<Self> {
        let place = tempfile::tempdir().expect("a temporary directory");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k,mode=0777"), "tmpfs"])
            .arg(place.path())
            .stdin(Stdio::null())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { place }),
            Ok(output) => skipped(test, &String::from_utf8_lossy(&output.stderr)),
            Err(e) => skipped(test, &e.to_string()),
        }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// Use up all the room that is left.
    pub fn fill(&self) {
        let filler = self.path().join("filler");
        let mut file =
            OpenOptions::new().create(true).append(true).open(filler).expect("a filler file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Make the room free again that `fill` used up.
    pub fn free(&self) {
        fs::remove_file(self.path().join("filler")).expect("the filler file");
    }

    /// Take away the right to write, from root as well.
    pub fn read_only(&self) {
        // A process that has just ended may still be closing a file.
        for _ in 0..100 {
            let done = Command::new("mount")
                .args(["-o", "remount,ro"])
                .arg(self.path())
                .output()
                .expect("mount worked before");
            if done.status.success() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("cannot make {} read-only", self.path().display());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.place.path()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("could not unmount {}", self.place.path().display());
        }
    }
}

fn skipped(test: &str, why: &str) -> Option<SmallDisk> {
    eprintln!("skipped: {test}: it needs a small disk, and mounting one failed: {}", why.trim());
    None
}
