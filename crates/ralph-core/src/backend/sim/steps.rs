//! One step of a scenario: a table with one verb and what belongs to it.

use serde_json::{Map, Value as Json};

use super::line::Verdict;
use super::parse::{Fields, ScenarioError, fault};
use super::scenario::{
    Act, Answer, Claim, ClaimStep, Escape, Failure, Form, Garbage, Signal, Spawn, Stdout, Step,
};
use crate::backend::LimitStatus;

/// Every verb, and the fields that may stand beside it.
const VERBS: [(&str, &[&str]); 31] = [
    ("say", &[]),
    ("think", &[]),
    ("write", &["text", "mode"]),
    ("append", &["text"]),
    ("patch", &["find", "with"]),
    ("delete", &[]),
    ("run", &[]),
    ("half", &["text"]),
    ("usage", &[]),
    ("cost", &[]),
    ("context", &[]),
    ("compact", &[]),
    ("compaction_fails", &[]),
    ("retry", &[]),
    ("limit", &["resets_in"]),
    ("denied", &["reason"]),
    ("sleep", &[]),
    ("hold", &[]),
    ("hang", &[]),
    ("answer", &[]),
    ("claim", &["why", "form", "handoff"]),
    ("fail", &["message", "status", "resets_in"]),
    ("exit", &[]),
    ("signal", &[]),
    ("spawn", &["command", "hold_stdout"]),
    ("garbage", &[]),
    ("print", &[]),
    ("flood", &[]),
    ("giant", &[]),
    ("stderr", &[]),
    ("fault", &[]),
];

pub(super) fn step(table: &Fields<'_>) -> Result<Step, ScenarioError> {
    let verb = verb(table)?;
    Ok(match verb {
        "say" => Step::Say(text(table, verb)?),
        "think" => Step::Think(text(table, verb)?),
        "write" | "append" | "patch" | "delete" | "run" => Step::Act(act(table, verb)?),
        "half" => Step::Half { path: text(table, verb)?, text: table.needed("text", verb)? },
        "usage" => usage(table)?,
        "cost" => Step::Cost(table.number(verb)?.unwrap_or_default()),
        "context" => Step::Context(percents(table, verb)?),
        "compact" => match percents(table, verb)?.as_slice() {
            [to] => Step::Compact(90, *to),
            [from, to] => Step::Compact(*from, *to),
            _ => return Err(table.error(verb, "must be a percentage after, or [before, after]")),
        },
        "compaction_fails" => Step::CompactionFails(text(table, verb)?),
        "retry" => Step::Retry(text(table, verb)?),
        "limit" => {
            let status = word(table, verb, LimitStatus::WORDS, LimitStatus::from_word)?;
            Step::Limit(status, table.duration("resets_in")?)
        }
        "denied" => Step::Denied(text(table, verb)?, table.string("reason")?),
        "sleep" => Step::Sleep(table.duration(verb)?.unwrap_or_default()),
        "hold" => Step::Hold(text(table, verb)?),
        "hang" => match table.flag(verb)? {
            Some(true) => Step::Hang,
            _ => return Err(table.error(verb, "must be true")),
        },
        "answer" => Step::Answer(match table.get(verb).and_then(toml_edit::Item::as_str) {
            Some(text) => Answer::Text(text.to_owned()),
            None => Answer::Data(table.json(verb)?.unwrap_or_default()),
        }),
        "claim" => claim(table)?,
        "fail" => fail(table)?,
        "exit" => {
            let code = table.whole(verb)?.and_then(|n| i32::try_from(n).ok()).filter(|n| *n < 256);
            Step::Exit(code.ok_or_else(|| table.error(verb, "must be an exit code from 0 to 255"))?)
        }
        "signal" => Step::Signal(word(table, verb, Signal::WORDS, Signal::from_word)?),
        "spawn" => spawn(table)?,
        "garbage" => Step::Garbage(word(table, verb, Garbage::WORDS, Garbage::from_word)?),
        "print" => Step::Raw(text(table, verb)?),
        "flood" => match table.get(verb).and_then(toml_edit::Item::as_str) {
            Some("endless") => Step::Flood(None),
            Some(_) => return Err(table.error(verb, "must be \"endless\" or a number of lines")),
            None => Step::Flood(table.whole(verb)?),
        },
        "giant" => Step::Giant(table.whole(verb)?.unwrap_or_default()),
        "stderr" => Step::Stderr(text(table, verb)?),
        _ => Step::Fault(fault(table, verb, &text(table, verb)?)?),
    })
}

/// The one verb of a step.
fn verb(table: &Fields<'_>) -> Result<&'static str, ScenarioError> {
    let names = table.names();
    let mut found = VERBS.iter().filter(|(verb, _)| names.contains(verb));
    let Some((verb, fields)) = found.next() else {
        let known: Vec<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
        return Err(match names.first() {
            Some(_) => table.only(&known).err().unwrap_or_else(|| none(table)),
            None => none(table),
        });
    };
    if let Some((other, _)) = found.next() {
        return Err(table.error(other, &format!("and `{verb}` are two steps: write two tables")));
    }
    let mut known = fields.to_vec();
    known.push(verb);
    table.only(&known)?;
    Ok(verb)
}

fn none(table: &Fields<'_>) -> ScenarioError {
    table.error_here("this step says nothing to do".into())
}

fn text(table: &Fields<'_>, name: &str) -> Result<String, ScenarioError> {
    Ok(table.string(name)?.unwrap_or_default())
}

/// The word of a verb, which is there because the verb was found by it.
fn word<T>(
    table: &Fields<'_>,
    name: &str,
    words: &[&str],
    read: fn(&str) -> Option<T>,
) -> Result<T, ScenarioError> {
    table.word(name, words, read)?.ok_or_else(|| table.error(name, "is missing"))
}

fn percents(table: &Fields<'_>, name: &str) -> Result<Vec<u64>, ScenarioError> {
    let list = table.wholes(name)?;
    if list.iter().any(|percent| *percent > 1000) {
        return Err(table.error(name, "is in percent of the window, at most 1000"));
    }
    Ok(list)
}

fn act(table: &Fields<'_>, verb: &str) -> Result<Act, ScenarioError> {
    let path = text(table, verb)?;
    if path.is_empty() || path.contains('\0') {
        return Err(table.error(verb, "is empty or holds a zero byte"));
    }
    Ok(match verb {
        "write" => {
            let mode = match table.string("mode")? {
                None => None,
                Some(mode) => {
                    let bits = u32::from_str_radix(&mode, 8).ok().filter(|bits| *bits <= 0o7777);
                    Some(bits.ok_or_else(|| table.error("mode", "must be like \"755\""))?)
                }
            };
            Act::Write { path, text: table.needed("text", verb)?, mode }
        }
        "append" => Act::Append { path, text: table.needed("text", verb)? },
        "patch" => Act::Patch {
            path,
            find: table.needed("find", verb)?,
            with: table.needed("with", verb)?,
        },
        "delete" => Act::Delete { path },
        _ => Act::Shell { command: path },
    })
}

fn usage(table: &Fields<'_>) -> Result<Step, ScenarioError> {
    let Some(numbers) = table.table("usage")? else { return Ok(Step::Usage(0, 0, 0)) };
    numbers.only(&["input", "cached", "output"])?;
    let number = |name| numbers.whole(name).map(Option::unwrap_or_default);
    Ok(Step::Usage(number("input")?, number("cached")?, number("output")?))
}

fn claim(table: &Fields<'_>) -> Result<Step, ScenarioError> {
    let handoff = match table.table("handoff")? {
        None => Map::new(),
        Some(_) => match table.json("handoff")? {
            Some(Json::Object(map)) => map,
            _ => return Err(table.error("handoff", "must be a table")),
        },
    };
    Ok(Step::Claim(ClaimStep {
        claim: word(table, "claim", Claim::WORDS, Claim::from_word)?,
        why: table.string("why")?,
        form: table.word("form", &Form::WORDS[1..], Form::from_word)?.unwrap_or(Form::Auto),
        handoff,
    }))
}

fn fail(table: &Fields<'_>) -> Result<Step, ScenarioError> {
    let status = table.whole("status")?.map(u16::try_from).transpose();
    Ok(Step::Fail(Failure {
        verdict: word(table, "fail", &Verdict::WORDS[1..], Verdict::from_word)?,
        message: table.string("message")?,
        status: status.map_err(|_| table.error("status", "must be an HTTP status"))?,
        resets_in: table.duration("resets_in")?,
    }))
}

fn spawn(table: &Fields<'_>) -> Result<Step, ScenarioError> {
    Ok(Step::Spawn(Spawn {
        escape: word(table, "spawn", Escape::WORDS, Escape::from_word)?,
        command: table.string("command")?.unwrap_or_else(|| "exec sleep 600".into()),
        stdout: match table.flag("hold_stdout")? {
            Some(true) => Stdout::Held,
            _ => Stdout::Closed,
        },
    }))
}
