//! The readers of every driver: the first byte chooses the driver and the exit, the rest is what the
//! program printed. Nothing panics, memory stays bounded by the input, and where a program has a last
//! word, there is no success without it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ralph_core::backend::acp::{Acp, Options};
use ralph_core::backend::sim::Sim;
use ralph_core::backend::{
    Claude, Codex, CommandDriver, Driver, Ending, Exit, Gemini, OpenCode, Outcome, Stop,
};
use ralph_core::config::Claim;
use ralph_fuzz::request;

static ACP: LazyLock<Acp> = LazyLock::new(|| {
    Acp::new(Options { program: "claude-agent-acp".into(), ..Options::default() })
});
static COMMAND: LazyLock<CommandDriver> = LazyLock::new(|| {
    CommandDriver::new("bot", &["bot".to_owned()], Claim::Marker).expect("a good template")
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
    let (driver, word): (&dyn Driver, Word) = match choice % 7 {
        0 => (&Claude, Word::Last),
        1 => (&Codex, Word::Last),
        2 => (&Gemini, Word::Last),
        3 => (&OpenCode, Word::Exit),
        4 => (&*ACP, Word::Last),
        5 => (&*COMMAND, Word::Exit),
        _ => (&Sim, Word::Last),
    };
    let ending = match choice / 7 % 4 {
        0 => Ending::Code(0),
        1 => Ending::Code(1),
        2 => Ending::Code(173),
        _ => Ending::Signal(9),
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
    let outcome = reader.outcome(&Exit { ending, stopped: None }, "");
    assert!(!outcome.to_string().is_empty() && !outcome.word().is_empty());
    if outcome == Outcome::Success {
        match word {
            Word::Last => assert!(is_finished && has_finished),
            Word::Exit => assert!(is_finished || ending == Ending::Code(0)),
        }
    }
    let stopped = Some(Stop::Timeout);
    assert_eq!(reader.outcome(&Exit { ending, stopped }, ""), Outcome::Timeout);
});
