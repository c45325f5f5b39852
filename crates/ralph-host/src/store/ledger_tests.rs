#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::thread;

use ralph_testkit::SmallDisk;
use tempfile::TempDir;

use super::*;

/// Good enough here: a last line that neither ends in a newline nor in a brace.
fn torn_tail(bytes: &[u8]) -> Option<usize> {
    if bytes.is_empty() || bytes.ends_with(b"\n") || bytes.ends_with(b"}") {
        return None;
    }
    Some(bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1))
}

const RECORDS: LedgerFileKind = LedgerFileKind::Records(torn_tail);

struct Room {
    dir: TempDir,
    store: LedgerStore,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let holder =
            LockHolder { pid: 1, started: "2025-01-20T10:30:00Z".into(), command: "ralph".into() };
        let store = LedgerStore {
            state_dir: dir.path().join("state"),
            holder,
            patience: Duration::from_millis(20),
        };
        Self { dir, store }
    }

    fn plan(&self) -> PathBuf {
        self.dir.path().join("plan.jsonl")
    }

    fn with(content: &str) -> Self {
        let room = Self::new();
        fs::write(room.plan(), content).unwrap();
        room
    }

    fn text(&self) -> String {
        fs::read_to_string(self.plan()).unwrap()
    }

    fn torn_file(&self) -> PathBuf {
        self.dir.path().join("plan.jsonl.torn")
    }

    fn change(&self, kind: LedgerFileKind, new: &str) -> LedgerUpdate<()> {
        self.store
            .update(&self.plan(), kind, |_| Ok::<_, LedgerStoreError>((new.to_owned(), ())))
            .unwrap()
    }

    fn read(&self) -> Result<LedgerRead<String>, LedgerStoreError> {
        self.store.read(&self.plan(), RECORDS, |bytes| Ok(text(bytes)))
    }
}

fn text(bytes: Option<&[u8]>) -> String {
    bytes.map_or("none".into(), |b| String::from_utf8_lossy(b).into_owned())
}

#[test]
fn one_new_record_is_appended_and_the_file_is_not_rewritten() {
    let room = Room::with("{1}\n");
    let inode = fs::metadata(room.plan()).unwrap().ino();
    assert_eq!(room.change(RECORDS, "{1}\n{2}\n").wrote, LedgerWrite::Appended);
    assert_eq!(fs::metadata(room.plan()).unwrap().ino(), inode);
    assert_eq!(room.text(), "{1}\n{2}\n");
}

#[test]
fn a_last_line_without_newline_gets_one_with_the_next_record() {
    let room = Room::with("{1}");
    assert_eq!(room.change(RECORDS, "{1}\n{2}\n").wrote, LedgerWrite::Appended);
    assert_eq!(room.text(), "{1}\n{2}\n");
    let room = Room::with("{1}");
    assert_eq!(room.change(RECORDS, "{1}\r\n{2}\r\n").wrote, LedgerWrite::Appended);
}

#[test]
fn several_records_arrive_together_or_not_at_all() {
    let room = Room::with("{1}\n");
    assert_eq!(room.change(RECORDS, "{1}\n{2}\n{3}\n").wrote, LedgerWrite::Replaced);
    assert_eq!(room.text(), "{1}\n{2}\n{3}\n");
}

#[test]
fn a_document_is_never_appended_to_because_a_torn_end_would_not_be_seen() {
    let room = Room::with("# Plan\n");
    assert_eq!(
        room.change(LedgerFileKind::Document, "# Plan\nmore\n").wrote,
        LedgerWrite::Replaced
    );
}

#[test]
fn no_change_writes_nothing() {
    let room = Room::with("{1}\n");
    let inode = fs::metadata(room.plan()).unwrap().ino();
    assert_eq!(room.change(RECORDS, "{1}\n").wrote, LedgerWrite::Nothing);
    assert_eq!(fs::metadata(room.plan()).unwrap().ino(), inode);
    let empty = Room::new();
    assert_eq!(empty.change(RECORDS, "").wrote, LedgerWrite::Nothing);
    assert!(!empty.plan().exists());
}

#[test]
fn a_missing_file_is_made_together_with_its_directory() {
    let room = Room::new();
    let path = room.dir.path().join("ralph/plan.jsonl");
    let made = room
        .store
        .update(&path, RECORDS, |old| {
            assert_eq!(old, None);
            Ok::<_, LedgerStoreError>(("{1}\n".to_owned(), 7))
        })
        .unwrap();
    assert_eq!((made.wrote, made.value), (LedgerWrite::Replaced, 7));
    assert_eq!(fs::read_to_string(path).unwrap(), "{1}\n");
}

#[test]
fn an_error_of_the_caller_changes_nothing_not_even_a_torn_line() {
    let room = Room::with("{1}\n{2");
    let failed: Result<LedgerUpdate<()>, _> = room.store.update(&room.plan(), RECORDS, |_| {
        Err(LedgerStoreError::from(LockError::AlreadyRunning { holder: None }))
    });
    failed.unwrap_err();
    room.store
        .read(&room.plan(), RECORDS, |_| {
            Err::<(), _>(LedgerStoreError::from(LockError::AlreadyRunning { holder: None }))
        })
        .unwrap_err();
    assert_eq!(room.text(), "{1}\n{2");
    assert!(!room.torn_file().exists());
}

#[test]
fn a_torn_line_is_kept_beside_the_file_and_reported_once() {
    let room = Room::with("{1}\n{2");
    let read = room.read().unwrap();
    assert_eq!(read.value, "{1}\n");
    let torn = read.torn.unwrap();
    assert_eq!((torn.bytes, torn.moved_to.as_deref()), (2, Some(room.torn_file().as_path())));
    assert!(torn.to_string().ends_with("plan.jsonl.torn"), "{torn}");
    assert_eq!(room.text(), "{1}\n");
    assert_eq!(fs::read_to_string(room.torn_file()).unwrap(), "{2\n");
    assert_eq!(room.read().unwrap().torn, None);
}

#[test]
fn a_change_starts_from_the_whole_lines_and_drops_the_torn_one() {
    let room = Room::with("{1}\n{2");
    fs::write(room.torn_file(), "{0\n").unwrap();
    let updated = room
        .store
        .update(&room.plan(), RECORDS, |old| Ok::<_, LedgerStoreError>((text(old) + "{3}\n", ())))
        .unwrap();
    assert!(updated.torn.is_some_and(|t| t.moved_to.is_some()));
    assert_eq!(room.text(), "{1}\n{3}\n");
    assert_eq!(fs::read_to_string(room.torn_file()).unwrap(), "{0\n{2\n");
}

#[test]
fn a_half_visible_append_is_waited_for_and_not_taken_for_torn() {
    static SAW_HALF: OnceLock<()> = OnceLock::new();
    let kind = LedgerFileKind::Records(|bytes| {
        torn_tail(bytes).inspect(|_| {
            SAW_HALF.get_or_init(|| ());
        })
    });
    let mut room = Room::with("{1}\n{2");
    room.store.patience = LEDGER_WAIT;
    let writer = room.store.lock().unwrap();
    let read = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            room.store.read(&room.plan(), kind, |bytes| Ok::<_, LedgerStoreError>(text(bytes)))
        });
        SAW_HALF.wait();
        atomic::append(&room.plan(), b"}\n").unwrap();
        drop(writer);
        reader.join().unwrap().unwrap()
    });
    assert_eq!(read, LedgerRead { value: "{1}\n{2}\n".into(), torn: None });
    assert!(!room.torn_file().exists());
}

#[test]
fn whole_files_are_read_without_a_lock() {
    let room = Room::with("{1}\n");
    let _held = room.store.lock().unwrap();
    assert_eq!(room.read().unwrap().value, "{1}\n");
    let error = room
        .store
        .update(&room.plan(), RECORDS, |_| Ok::<_, LedgerStoreError>(("{9}\n".to_owned(), ())))
        .unwrap_err();
    assert!(error.to_string().contains("in use by pid 1"), "{error}");
}

#[test]
fn where_nothing_may_be_written_a_torn_line_is_ignored_and_reported() {
    let test = "where_nothing_may_be_written_a_torn_line_is_ignored_and_reported";
    let Some(disk) = SmallDisk::mount(test, 64) else { return };
    let path = disk.path().join("plan.jsonl");
    fs::write(&path, "{1}\n{2").unwrap();
    disk.read_only();
    let room = Room::new();
    let closed = LedgerStore { state_dir: disk.path().join("state"), ..room.store.clone() };
    for store in [&room.store, &closed] {
        let read = store.read(&path, RECORDS, |b| Ok::<_, LedgerStoreError>(text(b))).unwrap();
        assert_eq!(read.value, "{1}\n");
        let torn = read.torn.unwrap();
        assert_eq!(torn.moved_to, None);
        assert!(torn.to_string().ends_with("it is ignored"), "{torn}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "{1}\n{2");
}

#[test]
fn a_torn_line_that_cannot_be_kept_is_not_removed() {
    let Some(disk) = SmallDisk::mount("a_torn_line_that_cannot_be_kept_is_not_removed", 64) else {
        return;
    };
    let room = Room::new();
    let path = disk.path().join("plan.jsonl");
    fs::write(&path, "{1}\n{2").unwrap();
    disk.fill();
    let read = room.store.read(&path, RECORDS, |b| Ok::<_, LedgerStoreError>(text(b))).unwrap();
    assert_eq!(read.value, "{1}\n");
    assert_eq!(read.torn.unwrap().moved_to, None);
    room.store
        .update(&path, RECORDS, |_| Ok::<_, LedgerStoreError>(("{1}\n{3}\n".to_owned(), ())))
        .unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{1}\n{2");
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let room = Room::new();
    let store = LedgerStore { patience: LEDGER_WAIT, ..room.store.clone() };
    thread::scope(|scope| {
        for writer in 0..8 {
            let (store, path) = (&store, room.plan());
            scope.spawn(move || {
                for n in 0..25 {
                    let add = |old: Option<&[u8]>| {
                        let old = old.map(|b| text(Some(b))).unwrap_or_default();
                        Ok::<_, LedgerStoreError>((format!("{old}{{{writer}-{n}}}\n"), ()))
                    };
                    store.update(&path, RECORDS, add).unwrap();
                    store.read(&path, RECORDS, |b| Ok::<_, LedgerStoreError>(text(b))).unwrap();
                }
            });
        }
    });
    let all = room.text();
    for writer in 0..8 {
        for n in 0..25 {
            assert!(all.contains(&format!("{{{writer}-{n}}}\n")), "lost {writer}-{n}");
        }
    }
    assert_eq!(all.lines().count(), 200);
    assert!(!room.torn_file().exists());
}

#[test]
fn a_torn_offset_out_of_range_is_not_believed() {
    let room = Room::with("{1}\n");
    let read = room
        .store
        .read(&room.plan(), LedgerFileKind::Records(|_| Some(999)), |b| {
            Ok::<_, LedgerStoreError>(text(b))
        })
        .unwrap();
    assert_eq!((read.value.as_str(), read.torn), ("{1}\n", None));
}
