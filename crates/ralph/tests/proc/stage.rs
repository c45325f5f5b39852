//! What the tests share: a runner with a mark of its own, and a check that nobody is left.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ralph_host::proc::mark::{SurvivingProcess, survivors};
use ralph_host::proc::{FinishedJob, Job, JobOutputLine, JobRunner, WatchDecision};
use tempfile::TempDir;

/// Long enough that it is never met on any machine.
pub(crate) const AGES: Duration = Duration::from_secs(300);

static STAGES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Stage {
    pub(crate) place: TempDir,
    pub(crate) runner: JobRunner,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), runner: runner(&unique_run()) }
    }

    /// A shell script as a job. `grace` is short: what ignores SIGTERM is not worth waiting for.
    pub(crate) fn sh(&self, script: &str) -> Job {
        let mut job = Job::new("sh", self.place.path()).args(["-c", script]);
        job.bounds.grace = Duration::from_millis(300);
        job.bounds.timeout = Some(AGES);
        job.log = Some(self.log_path());
        job
    }

    pub(crate) fn python(&self, script: &str) -> Job {
        let mut job = self.sh("");
        job.program = "python3".into();
        job.args = vec!["-c".into(), script.into()];
        job
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.place.path().join("logs/job.log")
    }

    pub(crate) fn log(&self) -> Vec<u8> {
        std::fs::read(self.log_path()).unwrap()
    }

    /// Run a job, look that nobody is left, and give its lines.
    #[track_caller]
    pub(crate) fn run(&self, job: &Job) -> (FinishedJob, Vec<String>) {
        let mut lines = Vec::new();
        let finished = self.watch(job, &mut |line: JobOutputLine<'_>| {
            lines.push(String::from_utf8_lossy(line.bytes).into_owned());
            WatchDecision::Continue
        });
        (finished, lines)
    }

    /// Run a job with a watch of the test's own.
    #[track_caller]
    pub(crate) fn watch(
        &self,
        job: &Job,
        watch: &mut dyn ralph_host::proc::JobWatch,
    ) -> FinishedJob {
        let finished = self.runner.run(job, watch).unwrap();
        assert_eq!(survivors(self.runner.run_id()), [], "somebody outlived the job");
        assert_eq!(finished.sweep.left, 0);
        finished
    }
}

pub(crate) fn runner(run: &str) -> JobRunner {
    JobRunner::with_supervisor(run, env!("CARGO_BIN_EXE_ralph"))
}

pub(crate) fn unique_run() -> String {
    let number = STAGES.fetch_add(1, Ordering::Relaxed);
    format!("test-{}-{number}", std::process::id())
}

/// Wait for something that is sure to come, with a limit that says what did not.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + AGES;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
pub(crate) fn until_nobody_is_left(run: &str) {
    let mut last: Vec<SurvivingProcess> = Vec::new();
    until("the end of every process of the run", || {
        last = survivors(run);
        last.is_empty().then_some(())
    });
}

/// Wait for a file that a script makes when it has come so far.
#[track_caller]
pub(crate) fn until_there(file: &Path) -> String {
    until(&format!("{} with something in it", file.display()), || {
        std::fs::read_to_string(file).ok().filter(|text| text.ends_with('\n'))
    })
}
