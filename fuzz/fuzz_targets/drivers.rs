//! The readers of every driver: the first byte chooses the driver and the exit, the rest is what the
//! program printed. Nothing panics, memory stays bounded by the input, and where a program has a last
//! word, there is no success without it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ralph_core::backend::acp::{AcpDriver, AcpOptions};
use ralph_core::backend::sim::SimDriver;
use ralph_core::backend::{
    BackendDriver, BackendExit, BackendOutcome, ClaudeDriver, CodexDriver, CommandDriver,
    GeminiDriver, OpenCodeDriver, ProcessEnding, StopCause,
};
use ralph_core::config::CommandClaim;
use ralph_fuzz::request;

static ACP: LazyLock<AcpDriver> = LazyLock::new(|| {
    AcpDriver::new(AcpOptions { program: "claude-agent-acp".into(), ..AcpOptions::default() })
});
static COMMAND: LazyLock<CommandDriver> = LazyLock::new(|| {
    CommandDriver::new("bot", &["bot".to_owned()], CommandClaim::Marker).expect("a good template")
});

/// What a run of nothing but its own words may be called.
#[derive(PartialEq)]
enum Word {
    /// It says that it is finished.
    Last,
    /// Its exit code says so.
    Exit,
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, stream)) = data.split_first() else { return };
    let (driver, word): (&dyn BackendDriver, Word) = match choice % 7 {
        0 => (&ClaudeDriver, Word::Last),
        1 => (&CodexDriver, Word::Last),
        2 => (&GeminiDriver, Word::Last),
        3 => (&OpenCodeDriver, Word::Exit),
        4 => (&*ACP, Word::Last),
        5 => (&*COMMAND, Word::Exit),
        _ => (&SimDriver, Word::Last),
    };
    let ending = match choice / 7 % 4 {
        0 => ProcessEnding::Code(0),
        1 => ProcessEnding::Code(1),
        2 => ProcessEnding::Code(173),
        _ => ProcessEnding::Signal(9),
    };
    let mut reader = driver.reader(&request());
    let mut events = Vec::new();
    let mut has_finished = false;
    for line in stream.split(|byte| *byte == b'\n') {
        reader.line(line, &mut events);
        reader.outgoing();
        has_finished |= reader.is_finished();
    }
    // An empty line is a line end of the answer.
    assert!(reader.answer().len() <= 3 * (stream.len() + 1));
    let is_finished = reader.is_finished();
    let outcome = reader.outcome(&BackendExit { ending, stopped: None }, "");
    assert!(!outcome.to_string().is_empty() && !outcome.word().is_empty());
    if outcome == BackendOutcome::Success {
        match word {
            Word::Last => assert!(is_finished && has_finished),
            Word::Exit => assert!(is_finished || ending == ProcessEnding::Code(0)),
        }
    }
    let stopped = Some(StopCause::Timeout);
    assert_eq!(reader.outcome(&BackendExit { ending, stopped }, ""), BackendOutcome::Timeout);
});
