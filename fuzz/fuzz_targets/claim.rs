//! An agent's last words: nothing panics, what is quoted claims nothing, and a prompt that holds
//! them keeps its sections.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ralph_core::answer::BackendAnswer;
use ralph_core::claim::{Claim, ClaimSources, hear};
use ralph_core::format::PlanFormat;
use ralph_core::plan::{Id, Task};
use ralph_core::prompt::{PromptMaterial, PromptSection, PromptTemplates, assemble};

static TEMPLATES: LazyLock<PromptTemplates> = LazyLock::new(PromptTemplates::embedded);

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let task = Task { id: Id::new("t-1a2b"), name: "Write the parser".into(), ..Task::default() };
    let structured = serde_json::from_str(text).ok();
    let quoted: String = text.lines().flat_map(|line| ["> ", line, "\n"]).collect();
    for format in PlanFormat::ALL {
        let answer = BackendAnswer { text: text.to_owned(), structured: structured.clone() };
        let said =
            ClaimSources { answer: &answer, written: None, task: &task, format, iteration: 1 };
        let reply = hear(&said);
        assert!(reply.claim != Claim::Partial || reply.handoff.is_some());
        let quoted = BackendAnswer { text: quoted.clone(), structured: None };
        let said = ClaimSources { answer: &quoted, ..said };
        // A handoff counts wherever it stands, so only the markers are quoted away.
        let heard = hear(&said);
        assert!(heard.handoff.is_some() || heard.claim == Claim::None);

        let notes = Some(text.to_owned());
        let mut material = PromptMaterial::new(format, "plan", Task { notes, ..task.clone() });
        material.operator_notes.push(text.to_owned());
        for budget in [usize::MAX, text.len() / 4, 0] {
            let prompt = match assemble(&material, &TEMPLATES, budget) {
                Ok(prompt) => prompt,
                Err(error) => panic!("{error}"),
            };
            for section in PromptSection::ALL {
                let header = section.header();
                let count = prompt.text.lines().filter(|line| line.trim() == header).count();
                assert!(count <= 1, "{header} stands {count} times in\n{}", prompt.text);
            }
        }
    }
});
