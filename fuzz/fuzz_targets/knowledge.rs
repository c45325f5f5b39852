//! The knowledge index, from text on: reading never panics, an index that did not change may stay, and
//! one that only grew has lost no hard constraint.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::memory::index::{IndexCheck, IndexFiles, knowledge, records, verify};
use ralph_core::memory::search;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    // The markdown file, a line of four dashes, the JSON file.
    let (markdown, json) = text.split_once("\n----\n").unwrap_or((&text, "[]"));
    let files = IndexFiles { markdown: Some(markdown), json: Some(json) };
    assert_eq!(verify(files, files), Ok(()));
    let _whole = verify(IndexFiles::default(), files);
    let all = knowledge(files);
    assert_eq!(all.damage.is_none(), records(json).is_ok());
    assert!(search(&all.items, &["must".to_owned()], 12).len() <= 12);
    // A new last line that opens nothing leaves every earlier line where it was.
    let more = format!("{markdown}\nThe end.");
    let grown = IndexFiles { markdown: Some(&more), json: Some(json) };
    let found = verify(files, grown).err().unwrap_or_default();
    assert!(found.iter().all(|one| one.check != IndexCheck::HardConstraints), "{found:?}");
    // Without the file, each of them is missed.
    let gone = IndexFiles { markdown: None, json: Some(json) };
    assert!(verify(files, gone).is_err());
});
