//! How reading, choosing and prioritising grow with the plan.
//!
//! The plan is one deep graph: each task needs the one before it, one half-way back, and every tenth
//! one the very first; the lines stand in a scrambled order. What counts is the growth from the
//! smallest plan: divided by the growth of n·log n it should stay near 1 or below.
//!
//! ```text
//! cargo bench -p ralph-core --bench scale               1,000 to 100,000 tasks, best of 7
//! cargo bench -p ralph-core --bench scale -- --quick    1,000 and 10,000 tasks, once
//! ```

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use ralph_core::format::{PlanFormat, codec};
use ralph_core::plan::{DependencyTrust, next_task, prioritize, stage};
use rustix::time::{ClockId, clock_gettime};

/// The first three are what the goal is about; the others are shown beside it.
const STEPS: [&str; 5] = ["parse", "select", "prioritise", "stage", "write"];
const IN_GOAL: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let quick = std::env::args().any(|a| a == "--quick");
    let (sizes, rounds) =
        if quick { (&[1_000, 10_000][..], 1) } else { (&[1_000, 10_000, 100_000][..], 7) };
    println!(
        "processor time, best of {rounds}; in brackets the growth from {} tasks over that of n·log n",
        sizes[0]
    );
    print!("{:>8}", "tasks");
    for name in ["goal"].iter().chain(&STEPS) {
        print!("  {name:>19}");
    }
    println!();
    let mut first: Option<Vec<Duration>> = None;
    for &n in sizes {
        let text = plan_text(n)?;
        let times = best_of(rounds, &text)?;
        let base = first.get_or_insert_with(|| times.clone());
        print!("{n:>8}");
        for (&time, &base) in times.iter().zip(base.iter()) {
            let growth = time.as_secs_f64() / base.as_secs_f64() / (n_log_n(n) / n_log_n(sizes[0]));
            print!("  {:>19}", format!("{time:.2?} ({growth:.2})"));
        }
        println!();
    }
    Ok(())
}

/// The shortest time of the steps of the goal together, then of each step.
fn best_of(rounds: usize, text: &str) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut best = vec![Duration::MAX; STEPS.len() + 1];
    for _ in 0..rounds {
        let mut times = vec![Duration::ZERO];
        run(text, &mut times)?;
        times[0] = times[1..=IN_GOAL].iter().sum();
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }
    Ok(best)
}

fn run(text: &str, times: &mut Vec<Duration>) -> Result<(), Box<dyn Error>> {
    let codec = codec(PlanFormat::Jsonl);
    let start = cpu_time();
    let plan = codec.parse(black_box(text))?;
    times.push(cpu_time() - start);

    let start = cpu_time();
    let next = next_task(&plan, DependencyTrust::Claimed).map(|t| t.name.clone());
    times.push(cpu_time() - start);
    if next.as_deref() != Some("Do part 0") {
        return Err(format!("the first task should be next, not {next:?}").into());
    }

    let start = cpu_time();
    let prioritized = prioritize(&plan, None);
    times.push(cpu_time() - start);

    let start = cpu_time();
    black_box(stage(&plan));
    times.push(cpu_time() - start);

    let start = cpu_time();
    black_box(codec.edit(text, &prioritized.edits)?);
    times.push(cpu_time() - start);
    Ok(())
}

/// `n` is a power of ten, so multiplying by a prime visits every task once.
fn plan_text(n: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::from("{\"t\":\"spec\",\"spec\":\"bench.md\"}\n");
    for line in 0..n {
        let i = line * 7_919 % n;
        let mut deps = String::new();
        if i > 0 {
            write!(deps, "\"t-{:06}\",\"t-{:06}\"", i - 1, i / 2)?;
        }
        if i > 0 && i.is_multiple_of(10) {
            write!(deps, ",\"t-{:06}\"", 0)?;
        }
        writeln!(
            text,
            "{{\"t\":\"task\",\"id\":\"t-{i:06}\",\"spec\":\"bench.md\",\"name\":\"Do part {i}\",\
             \"s\":\"p\",\"accept\":\"part {i} is there\",\"deps\":[{deps}]}}"
        )?;
    }
    Ok(text)
}

/// Time that this thread had a processor: what other programs do at the same time counts little.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn n_log_n(n: usize) -> f64 {
    let n = n as f64;
    n * n.log2()
}
