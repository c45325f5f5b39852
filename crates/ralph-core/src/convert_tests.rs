//! Everything that a conversion does not carry over is named.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2025-01-20T10:30:00Z";

/// A text of a plan, and what must be in the new text or be named as lost.
#[derive(Debug, Default)]
struct Source {
    bits: Vec<bool>,
    /// The word in the source, what a loss calls it, and whose it is.
    facts: Vec<(String, &'static str, String)>,
}

impl Source {
    fn chance(&mut self) -> bool {
        self.bits.pop().unwrap_or_default()
    }

    /// A word that stands nowhere else.
    fn fact(&mut self, label: &'static str, owner: &str) -> String {
        let word = format!("word{}q", self.facts.len());
        self.facts.push((word.clone(), label, owner.to_owned()));
        word
    }

    /// Set a member to a new word, or leave it out.
    fn maybe(&mut self, object: &mut Value, key: &str, label: &'static str, owner: &str) {
        if self.chance() {
            object[key] = self.fact(label, owner).into();
        }
    }

    fn done_at(&mut self, object: &mut Value, key: &str, owner: &str) {
        if self.chance() {
            let commit = format!("ab{:06x}", self.facts.len());
            object[key] = commit.clone().into();
            self.facts.push((commit, "done_at", owner.to_owned()));
        } else if self.chance() {
            let time = format!("2025-01-19T08:00:{:02}Z", self.facts.len());
            object[key] = time.clone().into();
            self.facts.push((time, "done_at", owner.to_owned()));
        }
    }

    fn deluxe(&mut self) -> String {
        let mut root = json!({ "tasks": [] });
        self.maybe(&mut root, "project", "title", "");
        self.maybe(&mut root, "owner", "`owner`", "the plan");
        let mut tasks = Vec::new();
        for n in 1..=3 {
            let id = format!("T-00{n}");
            let mut task = json!({ "id": id, "title": self.fact("name", &id) });
            task["status"] = if self.chance() { "pending" } else { "done" }.into();
            if self.chance() {
                task["status"] = "skipped".into();
                self.maybe(&mut task, "skipped_reason", "`skipped_reason`", &id);
            }
            self.maybe(&mut task, "description", "notes", &id);
            self.maybe(&mut task, "spec", "spec", &id);
            self.maybe(&mut task, "sprint", "`sprint`", &id);
            self.done_at(&mut task, "done_at", &id);
            if self.chance() {
                task["acceptance_criteria"] = json!([self.fact("acceptance criteria", &id)]);
                task["passes"] = false.into();
                self.facts.push(("no such text".to_owned(), "`passes`", id.clone()));
            }
            tasks.push(task);
        }
        root["tasks"] = tasks.into();
        format!("{root:#}\n")
    }

    fn implementation(&mut self) -> String {
        let mut root = json!({ "version": 1, "updatedAt": NOW, "specs": [] });
        self.maybe(&mut root, "name", "title", "");
        self.maybe(&mut root, "motto", "`motto`", "the plan");
        if self.chance() {
            root["qualityGates"] = json!([self.fact("`qualityGates`", "the plan")]);
        }
        let mut specs = Vec::new();
        for n in 0..2 {
            let id = format!("part-{n}");
            let owner = format!("spec {id}");
            let mut spec = json!({ "id": id });
            self.maybe(&mut spec, "file", "`file`", &owner);
            self.maybe(&mut spec, "name", "`name`", &owner);
            self.maybe(&mut spec, "context", "`context`", &owner);
            let task = format!("{id}-1");
            let mut object = json!({ "id": task, "description": self.fact("name", &task) });
            let (status, reason) =
                if self.chance() { ("completed", "`failedReason`") } else { ("failed", "state") };
            object["status"] = status.into();
            self.maybe(&mut object, "failedReason", reason, &task);
            self.maybe(&mut object, "notes", "notes", &task);
            if status == "completed" {
                self.maybe(&mut object, "skipped", "`skipped`", &task);
            }
            self.maybe(&mut object, "estimate", "`estimate`", &task);
            self.done_at(&mut object, "completedAt", &task);
            spec["tasks"] = if self.chance() || n == 0 { json!([object]) } else { json!([]) };
            specs.push(spec);
        }
        root["specs"] = specs.into();
        let text = format!("{root:#}\n");
        self.facts.retain(|(word, ..)| text.contains(word.as_str()));
        text
    }

    fn jsonl(&mut self) -> String {
        let mut records = Vec::new();
        for id in ["t-aaaa", "t-bbbb"] {
            let mut task = json!({ "t": "task", "id": id, "name": self.fact("name", id) });
            task["s"] = if self.chance() { "p" } else { "d" }.into();
            self.maybe(&mut task, "notes", "notes", id);
            self.maybe(&mut task, "spec", "spec", id);
            self.maybe(&mut task, "mood", "`mood`", id);
            self.maybe(&mut task, "reject", "last rejection", id);
            self.done_at(&mut task, "done_at", id);
            records.push(task);
        }
        let mut accept = json!({ "t": "accept", "id": "t-cccc", "name": self.fact("name", "") });
        self.done_at(&mut accept, "done_at", "t-cccc");
        self.maybe(&mut accept, "at", "`at`", "t-cccc");
        let mut delete = json!({ "t": "delete", "id": "t-dddd", "name": self.fact("name", "") });
        self.maybe(&mut delete, "reason", "`reason`", "t-dddd");
        let issue = json!({ "t": "issue", "id": "i-aaaa", "desc": self.fact("issue i-aaaa", "") });
        let memo = json!({ "t": "memo", "text": self.fact("the memo record", "") });
        let reason = self.fact("the reject record of t-aaaa", "");
        let reject = json!({ "t": "reject", "id": "t-aaaa", "reason": reason });
        let spec = json!({ "t": "spec", "spec": self.fact("current spec", "") });
        for record in [accept, delete, issue, memo, reject, spec] {
            if self.chance() {
                records.push(record);
            }
        }
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        self.facts.retain(|(word, ..)| text.contains(word.as_str()));
        text
    }

    fn progress(&mut self) -> String {
        let mut text = format!("# Progress: {}\n\n", self.fact("title", ""));
        let parts = [
            ("", "the text above the first section"),
            ("## Analysis\n\n", "section `Analysis`"),
            ("## ideas\n\n", "section `ideas`"),
            ("## Testing Strategy\n\n", "section `Testing Strategy`"),
        ];
        for (heading, label) in parts {
            if self.chance() {
                text.push_str(&format!("{heading}{}\n\n", self.fact(label, "")));
            }
        }
        text.push_str("## Tasks\n\n");
        if self.chance() {
            text.push_str(&format!("{}\n\n", self.fact("section `Tasks`", "")));
        }
        if self.chance() {
            text.push_str(&format!("### {}\n\n", self.fact("phase", "")));
        }
        for _ in 0..2 {
            let mark = if self.chance() { "x" } else { " " };
            text.push_str(&format!("- [{mark}] {}\n", self.fact("name", "")));
            if self.chance() {
                text.push_str(&format!("  {}\n", self.fact("notes", "")));
            }
        }
        text
    }
}

fn check(format: PlanFormat, bits: Vec<bool>) -> Result<(), TestCaseError> {
    let mut source = Source { bits, ..Source::default() };
    let text = match format {
        PlanFormat::Jsonl => source.jsonl(),
        PlanFormat::Deluxe => source.deluxe(),
        PlanFormat::Progress => source.progress(),
        PlanFormat::Implementation => source.implementation(),
    };
    let plan = codec(format).parse(&text).unwrap();
    for to in PlanFormat::ALL {
        let ConvertedPlan { text: new, lost } = convert(&plan, &text, to, "x", NOW).unwrap();
        if to == format {
            prop_assert_eq!(&new, &text);
            prop_assert!(lost.is_empty());
            continue;
        }
        for (word, label, owner) in &source.facts {
            let named = |line: &String| {
                line == owner || line.contains(label) && line.contains(owner.as_str())
            };
            prop_assert!(
                new.contains(word.as_str()) || lost.iter().any(named),
                "{} to {}: {} ({} of {}) is gone and not named in {:#?}\n{}\n{}",
                format,
                to,
                word,
                label,
                owner,
                lost,
                text,
                new
            );
            let commit = word.starts_with("ab") && *label == "done_at";
            let times = ["\"at\"", "\"completedAt\""].map(|key| format!("{key}: \"{word}\""));
            let as_time = times.iter().any(|time| new.replace("\":\"", "\": \"").contains(time));
            prop_assert!(!(commit && as_time), "a commit as a time:\n{}", new);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(26), ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_not_carried_over_is_named(bits in prop::collection::vec(any::<bool>(), 48)) {
        for format in PlanFormat::ALL {
            check(format, bits.clone())?;
        }
    }
}
