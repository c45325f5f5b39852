//! A run of a backend from request to report, with a driver for a shell script.

use std::time::Duration;

use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendExit, BackendFeatures, BackendOutcome, BackendPermissions,
    BackendReader, BackendRequest, ContextFill, Invocation, ProcessEnding, RunCost, RunUsage,
    ScratchFile, StopCause,
};
use ralph_core::limits::{BackendRunLimits, LimitMonitor, MonitorAction};
use ralph_host::backends::{
    BackendCall, BackendNotice, BackendRunReport, FullContextPolicy, run_backend,
};
use ralph_host::proc::{CancelToken, JobBounds};

use crate::stage::{AGES, Stage};

/// Speaks with a script in words: `say TEXT`, `cost 1.5`, `context 80`, `call`, `finished`.
struct Words {
    reader: fn() -> Box<dyn BackendReader>,
    /// The script is an argument and not the standard input.
    talks: bool,
}

const WORDS: Words = Words { reader: || Box::new(WordsReader::default()), talks: false };

impl BackendDriver for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn program(&self) -> &'static str {
        "sh"
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            schema: false,
            resume: false,
            cost: true,
            context: true,
            mcp: false,
            system: false,
            max_turns: false,
            budget: false,
            compaction: false,
        }
    }

    /// The prompt is the script.
    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let path = format!("{}/settings", request.scratch);
        let (args, stdin) = if self.talks {
            (vec!["-c".into(), request.prompt.into()], String::new())
        } else {
            (vec!["-s".into(), path.clone()], request.prompt.into())
        };
        Invocation {
            args,
            env: vec![("DRIVER".into(), "set".into())],
            stdin,
            files: vec![ScratchFile { path, text: "from the driver\n".into() }],
        }
    }

    fn reader(&self, _: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        (self.reader)()
    }
}

#[derive(Default)]
struct WordsReader {
    answer: String,
    cost: Option<f64>,
    finished: bool,
    /// What to say next, for a program that is talked with.
    words: Option<Vec<u8>>,
    /// One line says it all, whatever it is.
    all_at_once: bool,
}

impl BackendReader for WordsReader {
    fn line(&mut self, line: &[u8], events: &mut Vec<BackendEvent>) {
        if std::mem::take(&mut self.all_at_once) {
            self.line(b"cost 99", events);
            return self.line(b"finished", events);
        }
        let line = String::from_utf8_lossy(line).into_owned();
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        events.push(match word {
            "say" => {
                self.answer = rest.to_owned();
                if let Some(words) = &mut self.words {
                    words.extend(b"pay\n");
                }
                BackendEvent::Text(rest.to_owned())
            }
            "cost" => {
                self.cost = rest.parse().ok();
                BackendEvent::Cost(RunCost(self.cost.unwrap()))
            }
            "context" => BackendEvent::Context(ContextFill {
                used: rest.parse().unwrap(),
                window: Some(100),
            }),
            "call" => BackendEvent::ToolCall {
                id: "1".into(),
                name: "Bash".into(),
                input: serde_json::Value::Null,
            },
            "finished" => {
                self.finished = true;
                BackendEvent::Finished
            }
            _ => BackendEvent::Unknown(line),
        });
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn outcome(&mut self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        match (exit.stopped.and_then(BackendOutcome::of_stop), exit.ending) {
            (Some(outcome), _) => outcome,
            (None, ProcessEnding::NotFound) => BackendOutcome::NotInstalled,
            (None, _) if self.finished => BackendOutcome::Success,
            (None, ending) => BackendOutcome::Crash { ending, message: stderr.trim().to_owned() },
        }
    }

    fn answer(&self) -> &str {
        &self.answer
    }

    fn structured(&self) -> Option<&serde_json::Value> {
        None
    }

    fn session(&self) -> Option<&str> {
        Some("s-1")
    }

    fn spent(&self) -> RunUsage {
        RunUsage { cost: self.cost, ..RunUsage::default() }
    }

    fn outgoing(&mut self) -> Vec<u8> {
        self.words.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn wants_input(&self) -> bool {
        self.words.is_some() && !self.finished
    }

    fn cancel(&mut self) {
        if let Some(words) = &mut self.words {
            words.extend(b"stop\n");
        }
    }
}

fn limits() -> BackendRunLimits {
    BackendRunLimits {
        timeout: Some(AGES),
        idle: Some(AGES),
        max_cost: Some(10.0),
        context_warn: 0.7,
        context_compact: 0.85,
        context_kill: 0.95,
        window: None,
    }
}

struct Scene {
    stage: Stage,
    driver: Words,
    grace: Duration,
    linger: Duration,
    limits: BackendRunLimits,
    on_compact: FullContextPolicy,
    program: Option<&'static str>,
    heard: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        Self {
            stage: Stage::new(),
            driver: WORDS,
            grace: Duration::from_millis(300),
            linger: Duration::from_millis(100),
            limits: limits(),
            on_compact: FullContextPolicy::Stop,
            program: None,
            heard: Vec::new(),
        }
    }

    fn play(&mut self, script: &str) -> BackendRunReport {
        let place = self.stage.place.path();
        let call = BackendCall {
            driver: &self.driver,
            program: self.program,
            args: &["extra argument".to_owned()],
            env: &[("CONFIGURED".to_owned(), "too".to_owned())],
            surroundings: &[],
            request: BackendRequest {
                permissions: BackendPermissions::Default,
                ..BackendRequest::plain(script)
            },
            cwd: place,
            scratch: &place.join("scratch"),
            log: Some(&place.join("logs/run.log")),
            on_compact: self.on_compact,
            bounds: JobBounds { grace: self.grace, linger: self.linger, ..JobBounds::default() },
            cancel: CancelToken::default(),
        };
        let mut listener = |heard: BackendNotice<'_>| match heard {
            BackendNotice::Started | BackendNotice::Event(_) | BackendNotice::Tick => {}
            BackendNotice::Decision(decision) => self.heard.push(format!("{decision:?}")),
        };
        let mut monitor = LimitMonitor::new(self.limits);
        let report = run_backend(&self.stage.runner, &call, &mut monitor, &mut listener).unwrap();
        assert_eq!(ralph_host::proc::mark::survivors(self.stage.runner.run_id()), []);
        report
    }
}

#[test]
fn a_run_gives_its_answer_its_cost_and_its_log() {
    let mut scene = Scene::new();
    let script = "echo say $(cat $1) $2 $DRIVER $CONFIGURED; ls -l $1 >&2\n\
                  echo cost 1.5; echo context 20; echo noise; echo finished";
    let report = scene.play(script);
    assert_eq!(report.outcome, BackendOutcome::Success);
    assert_eq!(report.answer.text, "from the driver extra argument set too");
    assert_eq!(report.session.as_deref(), Some("s-1"));
    assert_eq!(report.spent.cost, Some(1.5));
    assert_eq!(report.context, Some(ContextFill { used: 20, window: Some(100) }));
    assert_eq!((report.events, report.ended_by), (5, None));
    assert!(report.finished.stderr_tail.starts_with("-rw------- "));
    let log = std::fs::read_to_string(report.log.unwrap()).unwrap();
    assert!(log.contains("cost 1.5\n") && log.contains("-rw-------"), "{log}");
    let scratch = scene.stage.place.path().join("scratch");
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0, "the private files are gone");
}

#[test]
fn a_program_that_is_not_installed_is_an_outcome() {
    let mut scene = Scene::new();
    scene.program = Some("no-such-backend");
    assert_eq!(scene.play("").outcome, BackendOutcome::NotInstalled);
}

#[test]
fn the_monitor_stops_a_run_that_costs_too_much() {
    let report = Scene::new().play("echo cost 10; echo cost 11; exec sleep 300");
    assert_eq!(report.outcome, BackendOutcome::Budget);
    assert_eq!(report.ended_by, Some(MonitorAction::Stop(StopCause::Budget)));
}

#[test]
fn a_run_is_not_stopped_for_what_its_last_line_says_it_took() {
    let mut scene = Scene::new();
    scene.driver.reader = || Box::new(WordsReader { all_at_once: true, ..WordsReader::default() });
    let report = scene.play("echo result");
    assert_eq!((report.outcome, report.ended_by), (BackendOutcome::Success, None));
}

/// Talks until it is told to stop or nobody listens.
const TALK: &str = "while read word; do case $word in \
    hello) echo say hello yourself;; pay) echo cost $COST;; stop) echo finished;; esac; done; exit 7";

fn talker() -> Scene {
    let mut scene = Scene::new();
    scene.driver.talks = true;
    scene.driver.reader = || {
        let words = Some(b"hello\n".to_vec());
        Box::new(WordsReader { words, ..WordsReader::default() })
    };
    // Long enough that only the program's own end can be the end.
    (scene.grace, scene.linger) = (AGES, AGES);
    scene
}

#[test]
fn a_program_that_is_talked_with_is_answered_and_hung_up_on_at_the_end() {
    let report = talker().play(&TALK.replace("cost $COST", "finished"));
    assert_eq!(report.outcome, BackendOutcome::Success);
    assert_eq!(report.finished.exit, BackendExit::code(7), "its input was closed");
}

#[test]
fn a_program_that_is_talked_with_is_asked_to_stop_before_it_is_ended() {
    let report = talker().play(&format!("COST=99; {TALK}"));
    assert_eq!(report.outcome, BackendOutcome::Budget);
    let exit = BackendExit { ending: ProcessEnding::Code(7), stopped: Some(StopCause::Budget) };
    assert_eq!(report.finished.exit, exit);
}

#[test]
fn a_program_that_is_asked_to_stop_and_does_not_is_ended() {
    let mut scene = talker();
    scene.grace = Duration::from_millis(200);
    let report = scene.play("read hello; echo cost 99; exec sleep 300");
    assert_eq!(report.outcome, BackendOutcome::Budget);
    assert_eq!(report.finished.exit.ending, ProcessEnding::Signal(15));
}

#[test]
fn a_context_to_compact_ends_the_run_with_that_reason_or_lets_it_go_on() {
    let mut scene = Scene::new();
    let report = scene.play("echo context 71; echo context 86; exec sleep 300");
    assert_eq!(report.outcome, BackendOutcome::ContextLimit);
    assert_eq!(report.ended_by, Some(MonitorAction::Compact));
    let warning = "Warn(\"[RALPH] Context pressure: 71% - consider wrapping up\")";
    assert_eq!(scene.heard, [warning, "Compact"]);
    scene.on_compact = FullContextPolicy::GoOn;
    let report = scene.play("echo context 86; echo context 40; echo finished");
    assert_eq!((report.outcome, report.ended_by), (BackendOutcome::Success, None));
}

#[test]
fn silence_ends_a_run_and_so_does_time() {
    let mut scene = Scene::new();
    scene.limits.idle = Some(Duration::from_millis(200));
    let report = scene.play("exec sleep 300");
    assert_eq!(report.outcome, BackendOutcome::Idle);
    assert_eq!(report.ended_by, Some(MonitorAction::Stop(StopCause::Idle)));
    scene.limits = BackendRunLimits { timeout: Some(Duration::from_millis(200)), ..limits() };
    let report = scene.play("while :; do echo say still here; sleep 0.01; done");
    assert_eq!(report.outcome, BackendOutcome::Timeout);
}

#[test]
fn silence_with_an_open_tool_call_is_not_idleness() {
    let mut scene = Scene::new();
    // Only the open call keeps it from being idle: it says nothing for twice the limit.
    scene.limits.idle = Some(Duration::from_secs(2));
    let report = scene.play("echo call Bash; sleep 4; echo finished");
    assert_eq!(report.outcome, BackendOutcome::Success);
}

#[test]
fn a_program_that_lingers_after_its_last_words_has_succeeded() {
    let report = Scene::new().play("echo finished; exec sleep 300");
    assert_eq!(report.outcome, BackendOutcome::Success);
    assert_eq!(report.finished.exit.stopped, Some(StopCause::Lingered));
}

#[test]
fn a_crash_keeps_its_last_words() {
    let report = Scene::new().play("echo say hello; echo out of memory >&2; kill -9 $$");
    let message = "out of memory".to_owned();
    assert_eq!(report.outcome, BackendOutcome::Crash { ending: ProcessEnding::Signal(9), message });
}
