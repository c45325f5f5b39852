//! What a prompt costs when much is remembered: 1,000 handoffs and an index of 10,000 entries.
//!
//! Ralph's side is all that is done for a prompt in mode `handoff-plus-index`: the templates, the
//! latest handoff, a skill and the index are read, and the sections are made and fitted into their
//! budget; then what the triggers and the context agent need to know of older handoffs. The floor is
//! reading the same few files into memory. Both take turns, with 10 handoffs and with 1,000: the
//! number of old handoffs is to make no difference.
//!
//! ```text
//! cargo bench -p ralph-host --bench memory             200 rounds
//! cargo bench -p ralph-host --bench memory -- --quick    5 rounds: does it run at all?
//! ```

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_core::config::MemoryMode;
use ralph_core::format::PlanFormat;
use ralph_core::handoff::synthetic;
use ralph_core::plan::{Id, Task};
use ralph_core::prompt::{PromptMaterial, assemble};
use ralph_host::{handoff_files, prompt_files, store};

const FEW: u64 = 10;
const MANY: u64 = 1_000;
const SMALL: usize = 100;
const LARGE: usize = 10_000;

/// Tokens of a prompt with an index.
const BUDGET: usize = 16_000;

/// Older handoffs that a trigger looks at.
const RECENT: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = if std::env::args().any(|a| a == "--quick") { 5 } else { 200 };
    println!("a prompt, {rounds} rounds, medians");
    println!(
        "{:>9} {:>8}  {:>10}  {:>10}  {:>6}",
        "handoffs", "entries", "floor", "ralph", "ratio"
    );
    for entries in [SMALL, LARGE] {
        let few = Place::new(FEW, entries)?;
        let many = Place::new(MANY, entries)?;
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..rounds {
            for (at, place) in [&few, &many].into_iter().enumerate() {
                times[at * 2].push(timed(|| place.floor())?);
                times[at * 2 + 1].push(timed(|| place.prompt())?);
            }
        }
        let [floor, ours, many_floor, many_ours] = times.map(median);
        for (handoffs, floor, ours) in [(FEW, floor, ours), (MANY, many_floor, many_ours)] {
            let ratio = ratio(ours, floor);
            println!("{handoffs:>9} {entries:>8}  {floor:>10.2?}  {ours:>10.2?}  {ratio:>6.2}");
        }
        println!("  {MANY} handoffs against {FEW}: {:.2} times", ratio(many_ours, ours));
    }
    Ok(())
}

/// A project that remembers.
struct Place {
    dir: tempfile::TempDir,
    handoffs: u64,
}

impl Place {
    fn new(handoffs: u64, entries: usize) -> Result<Self, Box<dyn Error>> {
        let dir = tempfile::tempdir()?;
        let root = dir.path();
        for number in 1..=handoffs {
            let mut handoff = synthetic(&Id::new("t-1a2b"), Vec::new(), "");
            handoff.synthetic = false;
            handoff.freeform = format!("In iteration {number} the cache was warmed. ").repeat(40);
            handoff_files::save(root, handoff, number)?;
        }
        let mut index = String::from(
            "# Knowledge Index\nLast updated: iteration 9 (2026-01-17)\n\n## Gotchas\n",
        );
        for n in 0..entries {
            writeln!(
                index,
                "- [K-gotcha-number-{n}] Number {n} is odd in its own way [source: iter {n}]"
            )?;
        }
        store::put_view(&root.join(INDEX), index.as_bytes())?;
        store::put_view(&root.join(SKILL), "Be brief.\n".repeat(50).as_bytes())?;
        Ok(Self { dir, handoffs })
    }

    fn floor(&self) -> Result<usize, Box<dyn Error>> {
        let latest = handoff_files::name(self.handoffs);
        let read = |file: &str| std::fs::read_to_string(self.dir.path().join(file));
        Ok(read(&latest)?.len() + read(INDEX)?.len() + read(SKILL)?.len())
    }

    fn prompt(&self) -> Result<usize, Box<dyn Error>> {
        let root: &Path = self.dir.path();
        let task = Task { id: Id::new("t-9z8y"), name: "Parse it".into(), ..Task::default() };
        let mut material = PromptMaterial::new(PlanFormat::Jsonl, "ralph/plan.jsonl", task);
        material.mode = MemoryMode::HandoffPlusIndex;
        material.handoff = handoff_files::latest(root, self.handoffs, |_| true).value;
        material.skills = prompt_files::skills(root, &["style".to_owned()]).value;
        material.index = prompt_files::knowledge_index(root).value;
        let templates = prompt_files::templates(root)?.value;
        let prompt = assemble(&material, &templates, BUDGET)?;
        let recent = handoff_files::recent(root, self.handoffs, RECENT).len();
        let first = handoff_files::first(root).ok_or("there is no handoff")?;
        if recent != RECENT || material.handoff.is_none() || material.index.is_none() {
            return Err("something was not found".into());
        }
        Ok(prompt.text.len() + first.len())
    }
}

const INDEX: &str = ".ralph/knowledge-index.md";
const SKILL: &str = ".ralph/skills/style.md";

fn timed(work: impl Fn() -> Result<usize, Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    std::hint::black_box(work()?);
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}
