//! Two hundred specs in one run: memory and open files stay what they were.

use std::time::{Duration, Instant};

use crate::lab::{Lab, lab_in_memory};

const SPECS: usize = 200;

/// What the agent holds: kilobytes and open files.
#[derive(Clone, Copy, Debug)]
struct Held {
    memory: u64,
    files: usize,
}

fn held(pid: u32) -> Option<Held> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let memory = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some(Held { memory, files })
}

/// The most that was held between two numbers of finished specs.
fn most(seen: &[(usize, Held)], range: std::ops::Range<usize>) -> Held {
    let here = || seen.iter().filter(|(done, _)| range.contains(done)).map(|(_, held)| held);
    let memory = here().map(|held| held.memory).max();
    let files = here().map(|held| held.files).max();
    Held { memory: memory.expect("a look"), files: files.expect("a look") }
}

#[test]
fn two_hundred_specs_in_one_run_take_no_more_memory_or_files_than_a_few() {
    let names: Vec<String> = (0..SPECS).map(|n| format!("s{n:03}.md")).collect();
    let lab: Lab = lab_in_memory(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let agent = lab.spawn(["agent", "--quiet"]);
    let end = Instant::now() + Duration::from_secs(600);
    let mut seen: Vec<(usize, Held)> = Vec::new();
    while let Some(now) = held(agent.pid()) {
        let text = std::fs::read_to_string(lab.path("ralph/inbox.jsonl")).unwrap_or_default();
        seen.push((text.matches("\"done\"").count(), now));
        assert!(Instant::now() < end, "it takes for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
    agent.wait().ok();
    assert_eq!(lab.completed().len(), SPECS);
    let (early, late) = (most(&seen, 20..60), most(&seen, 160..201));
    println!("{early:?} after a few, {late:?} in the end");
    assert!(late.memory * 10 <= early.memory * 15, "memory grows: {early:?}, {late:?}");
    assert!(late.files <= early.files + 2, "open files grow: {early:?}, {late:?}");
}
