//! Plans of other programs: whatever the text, nothing panics, every item has one row and one id, and
//! what is written can be read again and takes nothing twice.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use ralph_core::format::{PlanFormat, codec};
use ralph_core::import::{
    ImportKind, ImportSource, ImportTarget, candidates, place, read, settle, with_blocks,
};

/// A time as the host would give it.
const NOW: &str = "2026-01-02T03:04:05Z";

/// What a file of each kind is called.
fn path(kind: ImportKind) -> &'static str {
    match kind {
        ImportKind::Prd => "prd.json",
        ImportKind::FixPlan => "fix_plan.md",
        ImportKind::TaskMaster => "tasks.json",
        ImportKind::Beads => "issues.jsonl",
        ImportKind::OpenSpec => "openspec/changes/a/tasks.md",
        ImportKind::SpecKit => "specs/001-a/tasks.md",
        ImportKind::Deluxe => "plan.json",
        ImportKind::Wiggum => "IMPLEMENTATION_PLAN.md",
        ImportKind::Github => "-",
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for kind in ImportKind::ALL {
        let sources = [ImportSource { path: path(kind).to_owned(), text: text.to_owned() }];
        let _any = candidates(&sources);
        let Ok(found) = read(kind, &sources) else { continue };
        let placed = place(&found.documents, &|_| None);
        for format in PlanFormat::ALL {
            let codec = codec(format);
            let empty = codec.empty("x", NOW);
            let plan = codec.parse(&empty).expect("an empty plan");
            let target = ImportTarget { shown: "plan", text: &empty, plan: &plan, codec, now: NOW };
            // A circle is refused, and so is what a markdown list cannot hold.
            let Ok(import) = settle(kind, &found, &placed, &target) else { continue };
            assert_eq!(import.rows.len(), found.items.len());
            let ids: BTreeSet<_> = import.rows.iter().map(|row| &row.id).collect();
            assert_eq!(ids.len(), import.rows.len(), "two items got one id");
            let new = codec.parse(&import.text).expect("the new plan can be read");
            let record = with_blocks(None, kind, &import.record);
            assert_eq!(with_blocks(record.as_deref(), kind, &import.record), None);
            let target = ImportTarget { text: &import.text, plan: &new, ..target };
            if format != PlanFormat::Progress {
                let again = settle(kind, &found, &placed, &target).expect("the same again");
                assert_eq!(again.added(), 0, "{}", again.text);
            }
        }
    }
});
