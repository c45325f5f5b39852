//! Lines of a journal: nothing panics, what was read is written as it is, and every record that tells
//! something tells it as one object with the four fields.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::cycle::{History, JournalEntry, events_of, state_of};

fuzz_target!(|data: &[u8]| {
    let mut history = History::default();
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(entry) = serde_json::from_slice::<JournalEntry>(line) else { continue };
        let Ok(text) = serde_json::to_string(&entry) else { continue };
        match serde_json::from_str::<JournalEntry>(&text) {
            // A number may lose its last digit on the first way, and then never again.
            Ok(again) => assert_eq!(serde_json::to_string(&again).ok(), Some(text)),
            Err(error) => panic!("{error}: {text}"),
        }
        history.add(&entry);
        for event in events_of(&entry, &history) {
            let value = serde_json::to_value(&event).expect("an event is an object");
            let keys: Vec<&str> =
                value.as_object().into_iter().flat_map(|o| o.keys()).map(String::as_str).collect();
            assert_eq!(keys, ["timestamp", "event", "message", "metadata"]);
        }
    }
    let _file = serde_json::to_value(state_of(&history));
});
