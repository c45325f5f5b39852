//! Before an attempt: the context agent reads what there is, writes the prompt, and says how to go on.

use std::fmt::Write as _;

use minijinja::context;
use minijinja::value::Value;

use super::directive::{PostDirective, PrepAction, PrepDirective};
use super::{PREPARED_PROMPT, values};
use crate::config::MemoryMode;
use crate::fence::open_lines;
use crate::plan::Task;
use crate::prompt::markdown::{code, item, one_line, under};
use crate::prompt::{PastHandoff, PromptSection, PromptTemplate, PromptTemplates, TemplateError};
use crate::text::clip;

/// Iterations in a row that a task waits for more research before it is tried anyway.
pub const MOST_RESEARCH: u32 = 2;

/// Sizes of a prepared prompt, in bytes.
const SHORTEST: usize = 50;
const LONGEST: usize = 1024 * 1024;

/// Characters of a task's description that a manifest holds.
const DESCRIPTION: usize = 20_000;
/// Characters of one line of somebody else's words.
const LINE: usize = 1000;

/// Input for the context agent before an attempt.
///
/// Paths are relative to the project. Paths of files that do not exist are left out.
#[derive(Clone, Debug)]
pub struct PrepInput<'a> {
    /// The iteration that is about to begin.
    pub iteration: u32,
    /// Memory mode of the prompts.
    pub mode: MemoryMode,
    pub plan_file: &'a str,
    pub task: &'a Task,
    /// The latest handoff; of its contents only the signals are told.
    pub latest: Option<&'a PastHandoff>,
    /// The file of the first handoff there is.
    pub first_handoff: Option<&'a str>,
    /// The two files of the knowledge index.
    pub index: [Option<&'a str>; 2],
    /// Why the last attempt at this task failed; there is one on a retry only.
    pub failure_context: Option<&'a str>,
    /// File with the latest output of the gates.
    pub validation_log: Option<&'a str>,
    pub skills: Option<&'a str>,
    /// The directory with the project's own prompts.
    pub templates: Option<&'a str>,
    /// Notes of the operator. The coding agent also receives them word for word.
    pub notes: &'a [String],
    /// Iterations in a row that only researched this task.
    pub researched: u32,
    /// Advice of the context agent after the last attempt.
    pub advice: Option<&'a PostDirective>,
}

/// Next step after the preparation of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepOutcome {
    /// Run the coding agent with the prepared prompt.
    Code,
    /// Run the coding agent with ralph's own prompt.
    CodeUnprepared {
        /// Why the prepared one is not used.
        why: String,
    },
    /// Leave the task out.
    Skip {
        /// Reason in the agent's words.
        reason: String,
    },
    /// The loop pauses for a person; the task stays pending.
    Pause {
        /// Reason in the agent's words.
        reason: String,
    },
    /// The task stays pending, and the next iteration prepares again.
    Research {
        /// Reason in the agent's words.
        reason: String,
    },
}

/// Decide the next step after a preparation.
///
/// `answer` is the agent's directive, or the reason why there is none. `prepared` is the result of
/// [`check_prepared`]. If the agent failed, the coding agent still runs, with ralph's own prompt if
/// necessary.
pub fn after_prep(
    answer: Result<&PrepDirective, String>,
    prepared: Result<(), String>,
    researched: u32,
) -> PrepOutcome {
    let reason = |directive: &PrepDirective| clip(&one_line(&directive.reason), LINE);
    match answer {
        Ok(directive) => match directive.action {
            PrepAction::Skip => return PrepOutcome::Skip { reason: reason(directive) },
            PrepAction::RequestHumanReview => {
                return PrepOutcome::Pause { reason: reason(directive) };
            }
            PrepAction::Research if researched < MOST_RESEARCH => {
                return PrepOutcome::Research { reason: reason(directive) };
            }
            PrepAction::Proceed | PrepAction::Research => {}
        },
        Err(why) if prepared.is_err() => return PrepOutcome::CodeUnprepared { why },
        Err(_) => {}
    }
    match prepared {
        Ok(()) => PrepOutcome::Code,
        Err(why) => PrepOutcome::CodeUnprepared { why },
    }
}

/// The sections that a prepared prompt must have for this input.
pub fn required_sections(input: &PrepInput<'_>) -> Vec<PromptSection> {
    let wanted = |section: &PromptSection| match section {
        PromptSection::FailureContext => input.failure_context.is_some(),
        PromptSection::Skills => !input.task.skills.is_empty(),
        // The context agent decides what of the index a task needs, and where to say it.
        PromptSection::RetrievedProjectMemory => false,
        _ => true,
    };
    PromptSection::ALL.into_iter().filter(wanted).collect()
}

/// Whether a prepared prompt can be used: there, long enough, and with all its headers.
pub fn check_prepared(text: Option<&str>, required: &[PromptSection]) -> Result<(), String> {
    let text = text.ok_or_else(|| format!("the context agent wrote no {PREPARED_PROMPT}"))?;
    match text.len() {
        short if short < SHORTEST => {
            return Err(format!("{PREPARED_PROMPT} has {short} bytes, less than {SHORTEST}"));
        }
        long if long > LONGEST => {
            return Err(format!("{PREPARED_PROMPT} has {long} bytes, more than {LONGEST}"));
        }
        _ => {}
    }
    let headers: Vec<String> = required.iter().map(|section| section.header()).collect();
    let mut missing: Vec<&str> = headers.iter().map(String::as_str).collect();
    for (_, line) in open_lines(text) {
        missing.retain(|header| *header != line.trim_end());
    }
    match missing[..] {
        [] => Ok(()),
        _ => Err(format!("{PREPARED_PROMPT} has no {}", missing.join(", "))),
    }
}

/// The whole prompt for the context agent.
pub fn prep_prompt(
    templates: &PromptTemplates,
    input: &PrepInput<'_>,
) -> Result<String, TemplateError> {
    let headers = required_sections(input);
    let values = context! {
        prompt_file => code(PREPARED_PROMPT),
        headers => headers.iter().map(|section| code(&section.header())).collect::<Value>(),
        ..values::<PrepDirective>(input.iteration, input.task)
    };
    let instructions = templates.render(PromptTemplate::ContextPrep, &values)?;
    Ok(format!("{}\n\n{}", instructions.trim_end(), prep_manifest(input)))
}

/// Return the manifest for the preparation: the task, with paths to everything else.
pub fn prep_manifest(input: &PrepInput<'_>) -> String {
    let mut out = String::from("# Manifest\n\n## The Task\n\n");
    the_task(&mut out, input.task);
    out.push_str("\n## Where To Look\n\n");
    out.push_str("Only the paths are given. Read what you need, and no more.\n\n");
    pointers(&mut out, input);
    out.push_str("\n## Signals\n\n");
    signals(&mut out, input);
    out.push_str("\n## State\n\n");
    line(&mut out, "iteration", &input.iteration.to_string());
    line(&mut out, "mode", input.mode.as_str());
    line(&mut out, "plan", &code(input.plan_file));
    line(&mut out, "write the prompt to", &code(PREPARED_PROMPT));
    out
}

/// Append one line to a manifest.
pub(super) fn line(out: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "- {name}: {value}");
}

/// A line of a manifest that leads to a file.
pub(super) fn pointer(out: &mut String, name: &str, path: Option<&str>) {
    if let Some(path) = path {
        line(out, name, &code(path));
    }
}

/// Return text of a person or an agent on one line, cut at the maximum length.
pub(super) fn said(text: &str) -> String {
    clip(&one_line(text), LINE)
}

fn the_task(out: &mut String, task: &Task) {
    let names = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.iter().map(|n| code(n)).collect::<Vec<_>>().join(", "),
    };
    line(out, "id", &code(task.id.as_str()));
    line(out, "title", &said(&task.name));
    line(out, "failed attempts before", &task.retries.to_string());
    line(out, "skills", &names(&task.skills));
    line(out, "libraries", &names(&task.libraries));
    line(out, "needs documentation", if task.needs_docs { "yes" } else { "no" });
    if let Some(notes) = task.notes.as_deref().filter(|notes| !notes.trim().is_empty()) {
        let _ = writeln!(out, "\n### Description\n\n{}", under(&clip(notes, DESCRIPTION), 3));
    }
    if !task.accept.is_empty() {
        out.push_str("\n### Acceptance Criteria\n\n");
        for criterion in &task.accept {
            let _ = writeln!(out, "- [ ] {}", item(&clip(criterion, DESCRIPTION)));
        }
    }
}

fn pointers(out: &mut String, input: &PrepInput<'_>) {
    let latest = input.latest.map(|past| past.file.as_str());
    pointer(out, "latest handoff", latest);
    if let (Some(first), Some(latest)) = (input.first_handoff, latest) {
        line(out, "all handoffs", &format!("from {} to {}", code(first), code(latest)));
    }
    let [markdown, json] = input.index;
    pointer(out, "knowledge index", markdown);
    pointer(out, "history of the knowledge index", json);
    pointer(out, "why the last attempt failed", input.failure_context);
    pointer(out, "what the gates said last", input.validation_log);
    pointer(out, "skills", input.skills);
    pointer(out, "the project's own prompts", input.templates);
    if out.ends_with("no more.\n\n") {
        out.push_str("Nothing was left by earlier iterations: look at the code.\n");
    }
}

fn signals(out: &mut String, input: &PrepInput<'_>) {
    let start = out.len();
    if let Some(handoff) = input.latest.map(|past| &past.handoff) {
        if let Some(level) = handoff.confidence_level {
            line(out, "confidence of the last attempt", level.as_str());
        }
        for topic in &handoff.request_research {
            line(out, "the last attempt asks to look up", &said(topic));
        }
        if let Some(review) = handoff.request_human_review.as_ref().filter(|r| r.needed) {
            line(out, "the last attempt asks for a person", &said(&review.reason));
        }
        if handoff.synthetic {
            line(out, "the last attempt", "left no handoff; ralph made one from what changed");
        }
    }
    for note in input.notes {
        line(out, "note from the operator", &said(note));
    }
    if let Some(advice) = input.advice {
        let action = advice.action.as_str();
        line(out, "advice after the last attempt", &format!("{action}: {}", said(&advice.reason)));
        for suggestion in &advice.plan_suggestions {
            line(out, "suggestion for the plan", &said(suggestion));
        }
    }
    if input.researched > 0 {
        let left = MOST_RESEARCH.saturating_sub(input.researched);
        let words = format!("{} so far, at most {left} more", input.researched);
        line(out, "iterations that only researched this task", &words);
    }
    if out.len() == start {
        out.push_str("None.\n");
    }
}
