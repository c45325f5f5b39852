//! A scenario of the simulated backend, and its output: nothing panics, a run that is planned comes
//! to an end, and no output without a last line is a success.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::backend::sim::{
    AnswerShape, Scenario, SimAccess, SimDriver, SimInvocation, SimOperation, choose, expand,
};
use ralph_core::backend::{BackendDriver, BackendExit, BackendOutcome};
use ralph_fuzz::request;

fuzz_target!(|data: &[u8]| {
    let mut reader = SimDriver.reader(&request());
    let mut events = Vec::new();
    for line in data.split(|byte| *byte == b'\n') {
        reader.line(line, &mut events);
    }
    let finished = reader.is_finished();
    assert!(finished || reader.outcome(&BackendExit::code(0), "") != BackendOutcome::Success);

    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(mut scenario) = Scenario::parse(text) else { return };
    scenario.chaos.seed = Some(data.len() as u64);
    let ask = SimInvocation {
        model: "sim-1".into(),
        resume: None,
        shape: AnswerShape::Structured,
        access: SimAccess::Write,
        max_turns: Some(3),
        budget: Some(1.0),
    };
    for attempt in 0..3 {
        // The scenario is its own prompt, so that its texts are in it.
        let choice = choose(&scenario, text, &mut |_| attempt);
        let performance = expand(&scenario, &choice, text, &ask);
        assert!(matches!(performance.ops.last(), Some(SimOperation::Exit(_))));
        assert_eq!(performance, expand(&scenario, &choice, text, &ask));
    }
});
