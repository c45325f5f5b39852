//! The inbox, from bytes on: reading never panics, and each change leaves the other entries alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::inbox::{Inbox, InboxChange, InboxEntry};
use ralph_core::lines;

const NOW: &str = "2026-01-02T03:04:05Z";

fuzz_target!(|data: &[u8]| {
    let Ok(decoded) = lines::decode(data) else { return };
    let Ok(inbox) = Inbox::parse(decoded.text) else { return };
    let printed = serde_json::to_value(inbox.entries()).expect("entries are JSON");
    assert_eq!(printed.as_array().map(Vec::len), Some(inbox.entries().len()));
    let words: String = decoded.text.chars().rev().take(24).collect();
    if inbox.find("q-fuzz").is_none() {
        let new = inbox.add("q-fuzz", &words, NOW);
        assert!(new.starts_with(decoded.text), "adding must be an append");
        keeps(&inbox, &new, |_| true);
        assert_eq!(reread(&new, |inbox| inbox.find("q-fuzz").map(|e| e.spec.clone())), Some(words));
    }
    let (cleared, _) = inbox.clear();
    keeps(&inbox, &cleared, |e| e.status.as_str() != "pending");
    if let Some(first) = inbox.entries().first() {
        let failed = InboxChange::Failed { at: NOW.to_owned(), error: decoded.text.to_owned() };
        for change in [InboxChange::Pending, InboxChange::Active { at: NOW.to_owned() }, failed] {
            if let Ok(new) = inbox.set_status(&first.id, &change) {
                keeps(&inbox, &new, |e| e.id != first.id);
            }
        }
        if let Ok(new) = inbox.remove(&first.id) {
            keeps(&inbox, &new, |e| e.id != first.id);
        }
    }
});

/// The new text has all entries that `stays` names, in order and as they were.
fn keeps(old: &Inbox<'_>, new: &str, stays: impl Fn(&InboxEntry) -> bool) {
    let facts = |e: &InboxEntry| InboxEntry { line: 0, ..e.clone() };
    let wanted: Vec<InboxEntry> = old.entries().iter().filter(|e| stays(e)).map(facts).collect();
    let found = reread(new, |inbox| inbox.entries().iter().map(facts).collect::<Vec<_>>());
    let mut rest = found.iter();
    assert!(wanted.iter().all(|e| rest.any(|f| f == e)), "lost one of {wanted:?} in\n{new}");
}

fn reread<T>(text: &str, look: impl FnOnce(&Inbox<'_>) -> T) -> T {
    match Inbox::parse(text) {
        Ok(inbox) => look(&inbox),
        Err(error) => panic!("the new inbox cannot be read: {error}\n{text}"),
    }
}
