//! Any other program, from a template in `ralph.toml`.
//!
//! ```toml
//! [backends.mybot]
//! kind = "command"
//! command = ["mybot", "--prompt-file", "{prompt_file}", "--model", "{model}"]
//! claim = "marker"
//! ```
//!
//! Placeholders: `{prompt_file}` is a file with the prompt (without it the prompt goes to standard
//! input), `{scratch}` a directory for files of this run, `{model}`, `{max_turns}` and `{session}`
//! what the request has. An argument whose placeholder has no value is left out, and when it is
//! nothing but the placeholder, so is the option before it: `--model {model}` goes as a whole.
//! `{name}` in small letters and `_` is always a placeholder; other braces are just braces.
//!
//! What the program prints is its answer, line by line. It may say more with one line of JSON:
//!
//! ```text
//! {"type":"result", "text":"the answer", "structured":{…}, "session":"id", "error":"what failed",
//!  "cost_usd":0.12, "usage":{"input":1200,"cached":300,"output":60,"turns":3}}
//! ```
//!
//! Every member but `type` may be absent, and `type` comes first. Numbers are those of this run;
//! `input` includes `cached`. Such a line is the program's word about its end; without one that is
//! its exit code. Exit code 0 without an `error` is success: with `claim = "exit"` that is also the claim that the
//! task is done, with `claim = "marker"` the answer must say so, and an empty one is no output.

use serde_json::{Map, Value};

use super::failure::judge_text;
use super::heard::{
    ReportedEnd, ReportedFailure, StreamReader, StreamState, for_people, gave_up, number, object,
    of_our_doing, real, text,
};
use super::{
    BackendDriver, BackendEvent, BackendExit, BackendFeatures, BackendOutcome, BackendReader,
    BackendRequest, Invocation, ProcessEnding, RunCost, RunUsage, ScratchFile, as_words,
};
use crate::config::CommandClaim;

/// The words that may stand in braces.
const PLACEHOLDERS: [(&str, TemplatePlaceholder); 5] = [
    ("prompt_file", TemplatePlaceholder::PromptFile),
    ("model", TemplatePlaceholder::Model),
    ("max_turns", TemplatePlaceholder::MaxTurns),
    ("session", TemplatePlaceholder::Session),
    ("scratch", TemplatePlaceholder::Scratch),
];

/// Beginning of the JSON line with the result of the run.
const RESULT: &[u8] = br#"{"type":"result""#;

/// The driver of a program that only a template describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDriver {
    name: String,
    program: String,
    args: Vec<TemplateArgument>,
    claim: CommandClaim,
}

/// One argument of the template, split into texts and placeholders.
type TemplateArgument = Vec<TemplatePiece>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Hole(TemplatePlaceholder),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplatePlaceholder {
    PromptFile,
    Model,
    MaxTurns,
    Session,
    Scratch,
}

impl CommandDriver {
    /// A driver for the template `command`; says what is wrong with it otherwise.
    pub fn new(name: &str, command: &[String], claim: CommandClaim) -> Result<Self, String> {
        let Some((program, args)) = command.split_first() else {
            return Err("`command` is empty: name a program".to_owned());
        };
        let pieces = argument(program)?;
        if program.is_empty() || pieces.iter().any(|piece| matches!(piece, TemplatePiece::Hole(_)))
        {
            return Err(format!("`command` must begin with a program, not `{program}`"));
        }
        Ok(Self {
            name: name.to_owned(),
            program: program.clone(),
            args: args.iter().map(|arg| argument(arg)).collect::<Result<_, _>>()?,
            claim,
        })
    }

    /// Return the way in which the program claims that a task is done.
    pub fn claim(&self) -> CommandClaim {
        self.claim
    }

    fn uses(&self, hole: TemplatePlaceholder) -> bool {
        self.args.iter().flatten().any(|piece| *piece == TemplatePiece::Hole(hole))
    }
}

/// Takes an argument of a template apart.
fn argument(text: &str) -> Result<TemplateArgument, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, tail) = rest.split_at(open);
        literal.push_str(before);
        let name = tail[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        let Some(name) = name else {
            literal.push('{');
            rest = &tail[1..];
            continue;
        };
        let known = PLACEHOLDERS.into_iter().find(|(word, _)| *word == name);
        let (_, hole) = known.ok_or_else(|| unknown(name))?;
        if !literal.is_empty() {
            pieces.push(TemplatePiece::Text(std::mem::take(&mut literal)));
        }
        pieces.push(TemplatePiece::Hole(hole));
        rest = &tail[name.len() + 2..];
    }
    literal.push_str(rest);
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(TemplatePiece::Text(literal));
    }
    Ok(pieces)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

fn unknown(name: &str) -> String {
    if name == "prompt" {
        return "`{prompt}` would put the prompt on the command line, which is too short for it and \
                readable for everybody: use `{prompt_file}`, or nothing to get it on standard input"
            .to_owned();
    }
    let words = PLACEHOLDERS.map(|(word, _)| word);
    match crate::text::nearest(name, words) {
        Some(near) => format!("unknown placeholder `{{{name}}}`: did you mean `{{{near}}}`?"),
        None => {
            let known = words.map(|word| format!("{{{word}}}")).join(", ");
            format!("unknown placeholder `{{{name}}}`: known are {known}")
        }
    }
}

impl BackendDriver for CommandDriver {
    fn name(&self) -> &str {
        &self.name
    }

    fn program(&self) -> &str {
        &self.program
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            resume: self.uses(TemplatePlaceholder::Session),
            max_turns: self.uses(TemplatePlaceholder::MaxTurns),
            ..BackendFeatures::default()
        }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let prompt = as_words(super::system_in_prompt(request.system, request.prompt));
        let path = format!("{}/prompt.md", request.scratch);
        let turns = request.max_turns.map(|turns| turns.to_string());
        let value = |hole: TemplatePlaceholder| match hole {
            TemplatePlaceholder::PromptFile => Some(path.as_str()),
            TemplatePlaceholder::Scratch => Some(request.scratch),
            TemplatePlaceholder::Model => request.model,
            TemplatePlaceholder::MaxTurns => turns.as_deref(),
            TemplatePlaceholder::Session => request.session.id(),
        };
        let mut run = Invocation::default();
        for argument in &self.args {
            let filled: Option<String> = argument
                .iter()
                .map(|piece| match piece {
                    TemplatePiece::Text(text) => Some(text.as_str()),
                    TemplatePiece::Hole(hole) => value(*hole),
                })
                .collect();
            match (filled, argument.as_slice()) {
                (Some(filled), _) => run.args.push(filled),
                (None, [TemplatePiece::Hole(_)]) => {
                    run.args.pop_if(|before| before.starts_with('-'));
                }
                (None, _) => {}
            }
        }
        match self.uses(TemplatePlaceholder::PromptFile) {
            true => run.files.push(ScratchFile { path, text: prompt }),
            false => run.stdin = prompt,
        }
        run
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(CommandReader { claim: self.claim, heard: StreamState::new(request), torn: None })
    }
}

struct CommandReader {
    claim: CommandClaim,
    /// The beginning of a result that is not whole.
    torn: Option<String>,
    heard: StreamState,
}

impl StreamReader for CommandReader {
    fn heard(&self) -> &StreamState {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut StreamState {
        &mut self.heard
    }

    fn read_line(&mut self, line: &[u8], events: &mut Vec<BackendEvent>) {
        if let Ok(Value::Object(said)) = serde_json::from_slice(line)
            && self.event(said, events).is_some()
        {
            return;
        }
        let mut line = String::from_utf8_lossy(line).into_owned();
        if line.as_bytes().starts_with(RESULT) {
            self.torn = Some(for_people(&line));
        }
        line.push('\n');
        self.heard.answer.push(&line);
        events.push(BackendEvent::Text(line));
    }

    fn judge(&self, exit: &BackendExit, stderr: &str) -> BackendOutcome {
        if let Some(outcome) = of_our_doing(exit) {
            return outcome;
        }
        if self.heard.failure.is_some() {
            return self.heard.judge(exit, stderr);
        }
        let answer = self.heard.answer.as_str().trim();
        match exit.ending {
            ending if ending != ProcessEnding::Code(0) && self.heard.end == ReportedEnd::Open => {
                // Many programs put their errors where the answer goes.
                let last = answer.lines().last().map(for_people);
                let judged = last.as_deref().filter(|_| matches!(ending, ProcessEnding::Code(_)));
                match gave_up(ending, stderr, last.as_deref()) {
                    crash @ BackendOutcome::Crash { .. } => {
                        judged.and_then(|last| judge_text(last, None)).unwrap_or(crash)
                    }
                    outcome => outcome,
                }
            }
            _ if self.heard.end == ReportedEnd::Open && self.torn.is_some() => {
                BackendOutcome::Malformed { message: self.torn.clone().unwrap_or_default() }
            }
            _ if self.claim == CommandClaim::Marker
                && answer.is_empty()
                && self.heard.structured.is_none() =>
            {
                BackendOutcome::NoOutput
            }
            _ => BackendOutcome::Success,
        }
    }

    fn event(
        &mut self,
        mut said: Map<String, Value>,
        events: &mut Vec<BackendEvent>,
    ) -> Option<()> {
        if text(&said, "type") != Some("result") {
            return None;
        }
        self.heard.end = ReportedEnd::Done;
        if let session @ Some(_) = text(&said, "session") {
            events.push(self.heard.start(session, None));
        }
        if let Some(answer) = text(&said, "text") {
            self.heard.answer.set(answer);
            events.push(BackendEvent::Text(answer.to_owned()));
        }
        if let Some(usage) = object(&said, "usage") {
            self.heard.spent = RunUsage {
                cost: self.heard.spent.cost,
                input: number(usage, "input"),
                cached: number(usage, "cached"),
                output: number(usage, "output"),
                turns: number(usage, "turns"),
            };
            events.extend(self.heard.spent.tokens().map(BackendEvent::Usage));
        }
        if let Some(cost) = real(&said, "cost_usd").filter(|cost| *cost >= 0.0) {
            self.heard.spent.cost = Some(cost);
            events.push(BackendEvent::Cost(RunCost(cost)));
        }
        if let Some(message) = text(&said, "error") {
            self.heard.failure = Some(ReportedFailure::Program { message: for_people(message) });
        }
        self.heard.structured = said.remove("structured").filter(|value| !value.is_null());
        events.push(BackendEvent::Finished);
        Some(())
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
