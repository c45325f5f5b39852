//! A backend that is talked with: its questions are answered while it runs, and it hears the end.

use std::time::Duration;

use ralph_core::backend::acp::{AcpDriver, AcpOptions};
use ralph_core::backend::{BackendOutcome, BackendRequest, StopCause};
use ralph_core::limits::{BackendRunLimits, LimitMonitor};
use ralph_host::backends::{BackendCall, BackendRunReport, FullContextPolicy, run_backend};
use ralph_host::proc::{CancelToken, JobBounds};

use crate::stage::{AGES, Stage};

/// Opens a session and reads the prompt.
const OPEN: &str = r#"
read -r hello; echo '{"id":1,"result":{"protocolVersion":1}}'
read -r new; echo '{"id":2,"result":{"sessionId":"s1"}}'
read -r prompt
"#;
const END: &str = r#"echo '{"id":3,"result":{"stopReason":"end_turn"}}'"#;

/// Runs an agent that is a shell script.
fn talk(script: &str, idle: Duration) -> BackendRunReport {
    let stage = Stage::new();
    let place = stage.place.path();
    let driver = AcpDriver::new(AcpOptions {
        name: "script".into(),
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        mode: None,
        cwd: place.to_str().unwrap().into(),
    });
    let request = BackendRequest::plain("make it");
    let call = BackendCall {
        driver: &driver,
        program: None,
        args: &[],
        env: &[],
        surroundings: &[],
        request,
        cwd: place,
        scratch: place,
        log: None,
        on_compact: FullContextPolicy::Stop,
        bounds: JobBounds {
            grace: Duration::from_millis(300),
            linger: Duration::from_millis(300),
            ..JobBounds::default()
        },
        cancel: CancelToken::default(),
    };
    let mut monitor = LimitMonitor::new(BackendRunLimits {
        timeout: Some(AGES),
        idle: Some(idle),
        max_cost: None,
        context_warn: 0.7,
        context_compact: 0.85,
        context_kill: 0.95,
        window: None,
    });
    let report = run_backend(&stage.runner, &call, &mut monitor, &mut |_| {}).unwrap();
    assert_eq!(ralph_host::proc::mark::survivors(stage.runner.run_id()), []);
    report
}

#[test]
fn questions_are_answered_and_the_end_of_the_turn_ends_the_input() {
    let ask = r#"echo '{"id":"q","method":"session/request_permission","params":{"toolCall":
        {"toolCallId":"c"},"options":[{"optionId":"y","name":"y","kind":"allow_once"}]}}' | tr -d '\n'
        echo; read -r answer
        case "$answer" in *'"optionId":"y"'*) ;; *) exit 9;; esac"#;
    // Without the end of its input this script would not exit by itself.
    let report = talk(&format!("{OPEN}{ask}\n{END}\ncat >/dev/null"), AGES);
    assert_eq!(report.outcome, BackendOutcome::Success);
    assert_eq!(report.finished.exit.stopped, None);
    assert_eq!(report.session.as_deref(), Some("s1"));
}

#[test]
fn an_agent_that_stays_after_its_turn_has_succeeded_and_is_ended() {
    let report = talk(&format!("{OPEN}{END}\nexec sleep 300"), AGES);
    assert_eq!(report.outcome, BackendOutcome::Success);
    assert_eq!(report.finished.exit.stopped, Some(StopCause::Lingered));
}

#[test]
fn an_agent_that_never_answers_falls_silent() {
    let report = talk(&format!("{OPEN}exec sleep 300"), Duration::from_millis(300));
    assert_eq!(report.outcome, BackendOutcome::Idle);
}

#[test]
fn an_agent_that_hangs_up_in_the_middle_is_no_success() {
    assert_eq!(talk(OPEN, AGES).outcome.word(), "malformed");
    assert_eq!(talk("exit 4", AGES).outcome.word(), "crash");
    assert_eq!(talk("exit 0", AGES).outcome, BackendOutcome::NoOutput);
}
