//! JSON in an agent's prose: nothing panics, what is put at the end is found, and a repair request
//! says why.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::answer::{AnswerError, BackendAnswer};
use ralph_core::handoff::{self, Handoff};
use serde_json::{Value, json};

/// More than this many braces are not looked at.
const MOST_BRACES: usize = 900;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Verdict {
    fuzz_verdict: String,
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, AnswerError> {
    BackendAnswer { text: text.to_owned(), structured: None }.read()
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = read::<Handoff>(&text) {
        assert!(error.repair_request(handoff::schema()).contains(&error.to_string()));
    }
    let _any = read::<Value>(&text);
    // The words themselves are in the value, so that quotes and braces get in.
    let wanted = json!({ "fuzz_verdict": text }).to_string();
    let found = read::<Verdict>(&wanted).expect("it is nothing but JSON");
    assert_eq!(found.fuzz_verdict, text);
    // Prose with a brace or a quote that stays open may swallow what follows.
    if !text.contains(['{', '"']) && text.len() < MOST_BRACES {
        let found = read::<Verdict>(&format!("{text}\n```json\n{wanted}\n```\n"));
        assert_eq!(found.expect("it stands at the end").fuzz_verdict, text);
    }
});
