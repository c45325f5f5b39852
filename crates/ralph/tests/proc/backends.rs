//! A run of a backend from request to report, with a driver for a shell script.

use std::time::Duration;

use ralph_core::backend::{
    Context, Driver, Ending, Event, Exit, Invocation, Money, Outcome, Permissions, Reader, Request,
    ScratchFile, Session, Spent, Stop, Supports,
};
use ralph_core::limits::{Decision, Limits, Monitor};
use ralph_host::backends::{Call, Heard, OnCompact, RunReport, run_backend};
use ralph_host::proc::{Bounds, Cancel};

use crate::stage::{AGES, Stage};

/// Speaks with a script in words: `say TEXT`, `cost 1.5`, `context 80`, `call`, `back`, `finished`.
struct Words;

impl Driver for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn program(&self) -> &'static str {
        "sh"
    }

    fn supports(&self) -> Supports {
        Supports {
            schema: false,
            resume: false,
            cost: true,
            context: true,
            mcp: false,
            max_turns: false,
            budget: false,
            compaction: false,
        }
    }

    /// The prompt is the script.
    fn invocation(&self, request: &Request<'_>) -> Invocation {
        let path = format!("{}/settings", request.scratch);
        Invocation {
            args: vec!["-s".into(), path.clone()],
            env: vec![("DRIVER".into(), "set".into())],
            stdin: request.prompt.into(),
            files: vec![ScratchFile { path, text: "from the driver\n".into() }],
        }
    }

    fn reader(&self, _: &Request<'_>) -> Box<dyn Reader> {
        Box::new(WordsReader::default())
    }
}

#[derive(Default)]
struct WordsReader {
    answer: String,
    cost: Option<f64>,
    finished: bool,
}

impl Reader for WordsReader {
    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) {
        let line = String::from_utf8_lossy(line).into_owned();
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        events.push(match word {
            "say" => {
                self.answer = rest.to_owned();
                Event::Text(rest.to_owned())
            }
            "cost" => {
                self.cost = rest.parse().ok();
                Event::Cost(Money(self.cost.unwrap()))
            }
            "context" => Event::Context(Context { used: rest.parse().unwrap(), window: Some(100) }),
            "call" => Event::ToolCall {
                id: "1".into(),
                name: "Bash".into(),
                input: serde_json::Value::Null,
            },
            "finished" => {
                self.finished = true;
                Event::Finished
            }
            _ => Event::Unknown(line),
        });
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn outcome(&mut self, exit: &Exit, stderr: &str) -> Outcome {
        match (exit.stopped.and_then(Outcome::of_stop), exit.ending) {
            (Some(outcome), _) => outcome,
            (None, Ending::NotFound) => Outcome::NotInstalled,
            (None, _) if self.finished => Outcome::Success,
            (None, ending) => Outcome::Crash { ending, message: stderr.trim().to_owned() },
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

    fn spent(&self) -> Spent {
        Spent { cost: self.cost, ..Spent::default() }
    }
}

fn limits() -> Limits {
    Limits {
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
    limits: Limits,
    on_compact: OnCompact,
    program: Option<&'static str>,
    heard: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let (stage, limits) = (Stage::new(), limits());
        Self { stage, limits, on_compact: OnCompact::Stop, program: None, heard: Vec::new() }
    }

    fn play(&mut self, script: &str) -> RunReport {
        let place = self.stage.place.path();
        let call = Call {
            driver: &Words,
            program: self.program,
            args: &["extra argument".to_owned()],
            env: &[("CONFIGURED".to_owned(), "too".to_owned())],
            request: Request {
                prompt: script,
                system: None,
                model: None,
                max_turns: None,
                permissions: Permissions::Default,
                mcp: None,
                schema: None,
                session: Session::New,
                budget: None,
                scratch: "",
                as_root: false,
            },
            cwd: place,
            scratch: &place.join("scratch"),
            log: Some(&place.join("logs/run.log")),
            on_compact: self.on_compact,
            bounds: Bounds {
                grace: Duration::from_millis(300),
                linger: Duration::from_millis(100),
                ..Bounds::default()
            },
            cancel: Cancel::default(),
        };
        let mut listener = |heard: Heard<'_>| match heard {
            Heard::Event(_) => {}
            Heard::Decision(decision) => self.heard.push(format!("{decision:?}")),
        };
        let mut monitor = Monitor::new(self.limits);
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
    assert_eq!(report.outcome, Outcome::Success);
    assert_eq!(report.answer, "from the driver extra argument set too");
    assert_eq!(report.session.as_deref(), Some("s-1"));
    assert_eq!(report.spent.cost, Some(1.5));
    assert_eq!(report.context, Some(Context { used: 20, window: Some(100) }));
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
    assert_eq!(scene.play("").outcome, Outcome::NotInstalled);
}

#[test]
fn the_monitor_stops_a_run_that_costs_too_much() {
    let report = Scene::new().play("echo cost 9; echo cost 10; exec sleep 300");
    assert_eq!(report.outcome, Outcome::Budget);
    assert_eq!(report.ended_by, Some(Decision::Stop(Stop::Budget)));
}

#[test]
fn a_run_is_not_stopped_for_what_its_last_line_says_it_took() {
    struct AllAtOnce;
    impl Driver for AllAtOnce {
        fn name(&self) -> &'static str {
            "all"
        }
        fn program(&self) -> &'static str {
            "sh"
        }
        fn supports(&self) -> Supports {
            Words.supports()
        }
        fn invocation(&self, request: &Request<'_>) -> Invocation {
            Words.invocation(request)
        }
        fn reader(&self, _: &Request<'_>) -> Box<dyn Reader> {
            Box::new(Last(WordsReader::default()))
        }
    }
    struct Last(WordsReader);
    impl Reader for Last {
        fn line(&mut self, _: &[u8], events: &mut Vec<Event>) {
            self.0.line(b"cost 99", events);
            self.0.line(b"finished", events);
        }
        fn is_finished(&self) -> bool {
            self.0.is_finished()
        }
        fn outcome(&mut self, exit: &Exit, stderr: &str) -> Outcome {
            self.0.outcome(exit, stderr)
        }
        fn answer(&self) -> &str {
            ""
        }
        fn structured(&self) -> Option<&serde_json::Value> {
            None
        }
        fn session(&self) -> Option<&str> {
            None
        }
        fn spent(&self) -> Spent {
            self.0.spent()
        }
    }
    let stage = Stage::new();
    let request = Request {
        prompt: "echo result",
        system: None,
        model: None,
        max_turns: None,
        permissions: Permissions::Default,
        mcp: None,
        schema: None,
        session: Session::New,
        budget: None,
        scratch: "",
        as_root: false,
    };
    let call = Call {
        driver: &AllAtOnce,
        program: None,
        args: &[],
        env: &[],
        request,
        cwd: stage.place.path(),
        scratch: stage.place.path(),
        log: None,
        on_compact: OnCompact::Stop,
        bounds: Bounds::default(),
        cancel: Cancel::default(),
    };
    let mut monitor = Monitor::new(limits());
    let report = run_backend(&stage.runner, &call, &mut monitor, &mut |_| {}).unwrap();
    assert_eq!((report.outcome, report.ended_by), (Outcome::Success, None));
}

#[test]
fn a_context_to_compact_ends_the_run_with_that_reason_or_lets_it_go_on() {
    let mut scene = Scene::new();
    let report = scene.play("echo context 71; echo context 86; exec sleep 300");
    assert_eq!(report.outcome, Outcome::ContextLimit);
    assert_eq!(report.ended_by, Some(Decision::Compact));
    let warning = "Warn(\"[RALPH] Context pressure: 71% - consider wrapping up\")";
    assert_eq!(scene.heard, [warning, "Compact"]);
    scene.on_compact = OnCompact::GoOn;
    let report = scene.play("echo context 86; echo context 40; echo finished");
    assert_eq!((report.outcome, report.ended_by), (Outcome::Success, None));
}

#[test]
fn silence_ends_a_run_but_not_an_open_tool_call() {
    let mut scene = Scene::new();
    scene.limits.idle = Some(Duration::from_millis(200));
    let report = scene.play("echo say hello; exec sleep 300");
    assert_eq!(report.outcome, Outcome::Idle);
    scene.limits.timeout = Some(Duration::from_millis(600));
    let report = scene.play("echo call Bash; exec sleep 300");
    assert_eq!(report.outcome, Outcome::Timeout);
}

#[test]
fn a_program_that_lingers_after_its_last_words_has_succeeded() {
    let report = Scene::new().play("echo finished; exec sleep 300");
    assert_eq!(report.outcome, Outcome::Success);
    assert_eq!(report.finished.exit.stopped, Some(Stop::Lingered));
}

#[test]
fn a_crash_keeps_its_last_words() {
    let report = Scene::new().play("echo say hello; echo out of memory >&2; kill -9 $$");
    let message = "out of memory".to_owned();
    assert_eq!(report.outcome, Outcome::Crash { ending: Ending::Signal(9), message });
}
