//! What the runner costs over starting a program and waiting for it.
//!
//! The bare way is one `posix_spawn` and one `wait`, with three pipes as the runner has. Both ways
//! take turns in one loop; what counts is the difference of the medians, which is to be at most
//! 3 ms, and their ratio. Nothing here fails for being slow; a program that is not run does.
//!
//! The second part is a stream of long lines through the runner with its log, next to the same
//! bytes read from a bare pipe.
//!
//! ```text
//! cargo bench -p ralph-host --bench runner             500 rounds, 200 MB
//! cargo bench -p ralph-host --bench runner -- --quick   20 rounds,  20 MB: does it run at all?
//! ```
#![expect(clippy::disallowed_methods, reason = "this program starts programs the bare way too")]

use std::error::Error;
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use ralph_core::backend::BackendExit;
use ralph_host::proc::{Job, JobOutputLine, JobRunner, WatchDecision, supervise_if_asked};

const STUB: &str = "/bin/true";
const GOAL: Duration = Duration::from_millis(3);

fn main() -> ExitCode {
    // The runner starts this very program as its supervisor.
    if let Some(code) = supervise_if_asked() {
        return code;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("runner: {e}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let quick = std::env::args().any(|a| a == "--quick");
    let (rounds, megabytes) = if quick { (20, 20) } else { (500, 200) };
    let runner = JobRunner::new("bench");
    let first = Instant::now();
    runner.warm_up()?;
    run(&runner)?;
    let first = first.elapsed();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(timed(spawn_and_wait)?);
        ours.push(timed(|| run(&runner))?);
    }
    let (ours, bare) = (median(ours), median(bare));
    let over = ours.saturating_sub(bare);
    println!("{STUB}, {rounds} rounds, medians");
    println!("  spawn and wait    {bare:>10.2?}");
    println!("  the runner        {ours:>10.2?}   {:.2} x", ratio(ours, bare));
    let verdict = if over <= GOAL { "within" } else { "over" };
    println!("  the difference    {over:>10.2?}   {verdict} the goal of {GOAL:?}");
    println!("  the first job     {first:>10.2?}   with the start of the supervisor");
    stream(&runner, megabytes)
}

fn stream(runner: &JobRunner, megabytes: u64) -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let script = format!(
        "yes \"$(head -c 1999 /dev/zero | tr '\\0' x)\" | head -c {}",
        megabytes * 1_000_000
    );
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..5 {
        bare.push(timed(|| {
            let mut child =
                Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn()?;
            let mut buffer = vec![0; 64 * 1024];
            let mut out = child.stdout.take().ok_or("no pipe")?;
            while out.read(&mut buffer)? > 0 {}
            Ok(child.wait().map(drop)?)
        })?);
        let mut job = Job::new("sh", place.path()).args(["-c", &script]);
        job.log = Some(place.path().join(format!("{round}.log")));
        let mut lines = 0;
        ours.push(timed(|| {
            let finished = runner.run(&job, &mut |_: JobOutputLine<'_>| {
                lines += 1;
                WatchDecision::Continue
            })?;
            (finished.exit == BackendExit::code(0)).then_some(()).ok_or_else(|| "it failed".into())
        })?);
        if lines != megabytes * 500 {
            return Err(format!("{lines} lines came through").into());
        }
        std::fs::remove_file(place.path().join(format!("{round}.log")))?;
    }
    let (ours, bare) = (median(ours), median(bare));
    println!("{megabytes} MB in lines of 2 kB, medians of 5");
    println!("  a bare pipe       {bare:>10.2?}");
    println!("  the runner        {ours:>10.2?}   {:.2} x, with lines and log", ratio(ours, bare));
    Ok(())
}

fn run(runner: &JobRunner) -> Result<(), Box<dyn Error>> {
    let finished =
        runner.run(&Job::new(STUB, "/"), &mut |_: JobOutputLine<'_>| WatchDecision::Continue)?;
    (finished.exit == BackendExit::code(0)).then_some(()).ok_or_else(|| "the stub failed".into())
}

fn spawn_and_wait() -> Result<(), Box<dyn Error>> {
    let mut child = Command::new(STUB)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.wait()?.success().then_some(()).ok_or_else(|| "the stub failed".into())
}

fn timed(mut work: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}
