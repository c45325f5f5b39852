//! Plans of other programs: whatever the text, nothing panics, every item has one row and one id, and
//! what is written can be read again and takes nothing twice.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use ralph_core::format::{Format, codec};
use ralph_core::import::{Kind, Source, Target, candidates, place, read, settle, with_blocks};

/// A time as the host would give it.
const NOW: &str = "2026-01-02T03:04:05Z";

/// What a file of each kind is called.
fn path(kind: Kind) -> &'static str {
    match kind {
        Kind::Prd => "prd.json",
        Kind::FixPlan => "fix_plan.md",
        Kind::TaskMaster => "tasks.json",
        Kind::Beads => "issues.jsonl",
        Kind::OpenSpec => "openspec/changes/a/tasks.md",
        Kind::SpecKit => "specs/001-a/tasks.md",
        Kind::Deluxe => "plan.json",
        Kind::Wiggum => "IMPLEMENTATION_PLAN.md",
        Kind::Github => "-",
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for kind in Kind::ALL {
        let sources = [Source { path: path(kind).to_owned(), text: text.to_owned() }];
        let _any = candidates(&sources);
        let Ok(found) = read(kind, &sources) else { continue };
        let placed = place(&found.documents, &|_| None);
        for format in Format::ALL {
            let codec = codec(format);
            let empty = codec.empty("x", NOW);
            let plan = codec.parse(&empty).expect("an empty plan");
            let target = Target { shown: "plan", text: &empty, plan: &plan, codec, now: NOW };
            // A circle is refused, and so is what a markdown list cannot hold.
            let Ok(import) = settle(kind, &found, &placed, &target) else { continue };
            assert_eq!(import.rows.len(), found.items.len());
            let ids: BTreeSet<_> = import.rows.iter().map(|row| &row.id).collect();
            assert_eq!(ids.len(), import.rows.len(), "two items got one id");
            let new = codec.parse(&import.text).expect("the new plan can be read");
            let record = with_blocks(None, kind, &import.record);
            assert_eq!(with_blocks(record.as_deref(), kind, &import.record), None);
            let target = Target { text: &import.text, plan: &new, ..target };
            if format != Format::Progress {
                let again = settle(kind, &found, &placed, &target).expect("the same again");
                assert_eq!(again.added(), 0, "{}", again.text);
            }
        }
    }
});
