//! One step of a scenario: a table with one verb and what belongs to it.

use serde_json::{Map, Value as Json};

use super::line::SimVerdict;
use super::parse::{ScenarioError, ScenarioTable, fault};
use super::scenario::{
    ClaimForm, ClaimStep, EscapeMethod, GarbageOutput, ScenarioStep, SimAnswer, SimClaim,
    SimFailure, SimSignal, SimSpawn, SpawnStdout, ToolAction,
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

pub(super) fn step(table: &ScenarioTable<'_>) -> Result<ScenarioStep, ScenarioError> {
    let verb = verb(table)?;
    Ok(match verb {
        "say" => ScenarioStep::Say(text(table, verb)?),
        "think" => ScenarioStep::Think(text(table, verb)?),
        "write" | "append" | "patch" | "delete" | "run" => ScenarioStep::Act(act(table, verb)?),
        "half" => {
            ScenarioStep::Half { path: text(table, verb)?, text: table.needed("text", verb)? }
        }
        "usage" => usage(table)?,
        "cost" => ScenarioStep::Cost(table.number(verb)?.unwrap_or_default()),
        "context" => ScenarioStep::Context(percents(table, verb)?),
        "compact" => match percents(table, verb)?.as_slice() {
            [to] => ScenarioStep::Compact(90, *to),
            [from, to] => ScenarioStep::Compact(*from, *to),
            _ => return Err(table.error(verb, "must be a percentage after, or [before, after]")),
        },
        "compaction_fails" => ScenarioStep::CompactionFails(text(table, verb)?),
        "retry" => ScenarioStep::Retry(text(table, verb)?),
        "limit" => {
            let status = word(table, verb, LimitStatus::WORDS, LimitStatus::from_word)?;
            ScenarioStep::Limit(status, table.duration("resets_in")?)
        }
        "denied" => ScenarioStep::Denied(text(table, verb)?, table.string("reason")?),
        "sleep" => ScenarioStep::Sleep(table.duration(verb)?.unwrap_or_default()),
        "hold" => ScenarioStep::Hold(text(table, verb)?),
        "hang" => match table.flag(verb)? {
            Some(true) => ScenarioStep::Hang,
            _ => return Err(table.error(verb, "must be true")),
        },
        "answer" => ScenarioStep::Answer(match table.get(verb).and_then(toml_edit::Item::as_str) {
            Some(text) => SimAnswer::Text(text.to_owned()),
            None => SimAnswer::Data(table.json(verb)?.unwrap_or_default()),
        }),
        "claim" => claim(table)?,
        "fail" => fail(table)?,
        "exit" => {
            let code = table.whole(verb)?.and_then(|n| i32::try_from(n).ok()).filter(|n| *n < 256);
            ScenarioStep::Exit(
                code.ok_or_else(|| table.error(verb, "must be an exit code from 0 to 255"))?,
            )
        }
        "signal" => {
            ScenarioStep::Signal(word(table, verb, SimSignal::WORDS, SimSignal::from_word)?)
        }
        "spawn" => spawn(table)?,
        "garbage" => ScenarioStep::Garbage(word(
            table,
            verb,
            GarbageOutput::WORDS,
            GarbageOutput::from_word,
        )?),
        "print" => ScenarioStep::Raw(text(table, verb)?),
        "flood" => match table.get(verb).and_then(toml_edit::Item::as_str) {
            Some("endless") => ScenarioStep::Flood(None),
            Some(_) => return Err(table.error(verb, "must be \"endless\" or a number of lines")),
            None => ScenarioStep::Flood(table.whole(verb)?),
        },
        "giant" => ScenarioStep::Giant(table.whole(verb)?.unwrap_or_default()),
        "stderr" => ScenarioStep::Stderr(text(table, verb)?),
        _ => ScenarioStep::Fault(fault(table, verb, &text(table, verb)?)?),
    })
}

/// The one verb of a step.
fn verb(table: &ScenarioTable<'_>) -> Result<&'static str, ScenarioError> {
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

fn none(table: &ScenarioTable<'_>) -> ScenarioError {
    table.error_here("this step says nothing to do".into())
}

fn text(table: &ScenarioTable<'_>, name: &str) -> Result<String, ScenarioError> {
    Ok(table.string(name)?.unwrap_or_default())
}

/// The word of a verb, which is there because the verb was found by it.
fn word<T>(
    table: &ScenarioTable<'_>,
    name: &str,
    words: &[&str],
    read: fn(&str) -> Option<T>,
) -> Result<T, ScenarioError> {
    table.word(name, words, read)?.ok_or_else(|| table.error(name, "is missing"))
}

fn percents(table: &ScenarioTable<'_>, name: &str) -> Result<Vec<u64>, ScenarioError> {
    let list = table.wholes(name)?;
    if list.iter().any(|percent| *percent > 1000) {
        return Err(table.error(name, "is in percent of the window, at most 1000"));
    }
    Ok(list)
}

fn act(table: &ScenarioTable<'_>, verb: &str) -> Result<ToolAction, ScenarioError> {
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
            ToolAction::Write { path, text: table.needed("text", verb)?, mode }
        }
        "append" => ToolAction::Append { path, text: table.needed("text", verb)? },
        "patch" => ToolAction::Patch {
            path,
            find: table.needed("find", verb)?,
            with: table.needed("with", verb)?,
        },
        "delete" => ToolAction::Delete { path },
        _ => ToolAction::Shell { command: path },
    })
}

fn usage(table: &ScenarioTable<'_>) -> Result<ScenarioStep, ScenarioError> {
    let Some(numbers) = table.table("usage")? else { return Ok(ScenarioStep::Usage(0, 0, 0)) };
    numbers.only(&["input", "cached", "output"])?;
    let number = |name| numbers.whole(name).map(Option::unwrap_or_default);
    Ok(ScenarioStep::Usage(number("input")?, number("cached")?, number("output")?))
}

fn claim(table: &ScenarioTable<'_>) -> Result<ScenarioStep, ScenarioError> {
    let handoff = match table.table("handoff")? {
        None => Map::new(),
        Some(_) => match table.json("handoff")? {
            Some(Json::Object(map)) => map,
            _ => return Err(table.error("handoff", "must be a table")),
        },
    };
    Ok(ScenarioStep::Claim(ClaimStep {
        claim: word(table, "claim", SimClaim::WORDS, SimClaim::from_word)?,
        why: table.string("why")?,
        form: table
            .word("form", &ClaimForm::WORDS[1..], ClaimForm::from_word)?
            .unwrap_or(ClaimForm::Auto),
        handoff,
    }))
}

fn fail(table: &ScenarioTable<'_>) -> Result<ScenarioStep, ScenarioError> {
    let status = table.whole("status")?.map(u16::try_from).transpose();
    Ok(ScenarioStep::Fail(SimFailure {
        verdict: word(table, "fail", &SimVerdict::WORDS[1..], SimVerdict::from_word)?,
        message: table.string("message")?,
        status: status.map_err(|_| table.error("status", "must be an HTTP status"))?,
        resets_in: table.duration("resets_in")?,
    }))
}

fn spawn(table: &ScenarioTable<'_>) -> Result<ScenarioStep, ScenarioError> {
    Ok(ScenarioStep::Spawn(SimSpawn {
        escape: word(table, "spawn", EscapeMethod::WORDS, EscapeMethod::from_word)?,
        command: table.string("command")?.unwrap_or_else(|| "exec sleep 600".into()),
        stdout: match table.flag("hold_stdout")? {
            Some(true) => SpawnStdout::Held,
            _ => SpawnStdout::Closed,
        },
    }))
}
