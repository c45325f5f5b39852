//! `ralph build --dry-run`: what the loop would do next.

use std::process::ExitCode;

use ralph_core::config::{ConfigFlag, render_duration};
use ralph_core::cycle::exit_code;
use ralph_core::gate::{self, Gate, GateNeed};
use ralph_face::words;
use ralph_host::drive::{
    BackendCommandLine, BackendStdin, BuildPreview, PreviewInputs, PreviewedStep, preview,
};
use ralph_host::proc::JobRunner;
use ralph_host::project_reader::ProjectReadError;
use serde_json::{Value, json};

use super::build::options;
use super::build_args::BuildArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, LabelledRows, OutputMode};

pub(super) fn run(
    context: &CommandContext,
    args: &BuildArgs,
    flags: &[ConfigFlag],
) -> Result<ExitCode, CommandError> {
    let file = context.plan_at(&context.plan_path(&args.plan())?)?;
    if !file.path.exists() {
        return Err(ProjectReadError::MissingPlan(file.shown.clone()).into());
    }
    let resolved = context.config_with(flags, &file)?;
    let gates = gate::resolve(&resolved.config, &file.plan);
    let shown = context.project.relative_path(&file.path);
    let look = PreviewInputs {
        project: &context.project,
        config: &resolved.config,
        gates: &gates,
        plan: &file.plan,
        text: &file.text,
        shown: &shown,
        options: &options(args),
        clock: context.clock(),
    };
    let runner = JobRunner::new(format!("look-{}", std::process::id()));
    let found = preview(&look, &runner)?;
    found.warnings.iter().for_each(out::warn);
    match args.common.render() {
        OutputMode::Json => out::json(&as_json(&found, &gates, &shown))?,
        OutputMode::People => people(&found, &gates, &shown)?,
    }
    Ok(match &found.next {
        PreviewedStep::End(end) => ExitCode::from(exit_code(end)),
        PreviewedStep::Attempt { .. } => ExitCode::SUCCESS,
    })
}

fn people(found: &BuildPreview, gates: &[Gate], plan: &str) -> Result<(), CommandError> {
    let mut rows = LabelledRows::default();
    let tally = found.tally;
    rows.add(
        "Plan",
        [format!("{plan}, {} of {} done", tally.finished(), out::count(tally.total(), "task"))],
    );
    rows.add("First", &found.recovers);
    match &found.next {
        PreviewedStep::End(end) => rows.add("Next", [format!("nothing: {}", end.reason())]),
        PreviewedStep::Attempt { iteration, task, max_retries, .. } => {
            let retry = match task.retries {
                0 => String::new(),
                n => format!(", retry {n} of {max_retries}"),
            };
            let next = format!("{}  {}  (iteration {iteration}{retry})", task.id, task.name);
            rows.add("Next", [next]);
        }
    }
    rows.add("Waiting", found.waiting.iter().map(|(id, why)| format!("{id}  {why}")));
    if let PreviewedStep::Attempt { command, commit, .. } = &found.next {
        let model = command.model.as_ref().map(|m| format!(" {m}")).unwrap_or_default();
        rows.add("Backend", [format!("{}{model}", command.backend)]);
        rows.add("Command", [shell_line(command)]);
        rows.add("Variables", [command.env.join(", ")]);
        rows.add("Input", [input(command)]);
        rows.add("Files", &command.files);
        rows.add("Gates", gates.iter().map(gate_line));
        rows.add("Commit", [commit.clone().unwrap_or_else(|| "nothing is committed".into())]);
    }
    rows.add("Limits", [limits(found)]);
    rows.print()?;
    if let PreviewedStep::Attempt { prompt, .. } = &found.next {
        let size = out::count(prompt.text.len(), "byte");
        out::line(format!("\nPrompt ({size}):\n"))?;
        out::raw(&prompt.text)?;
    }
    Ok(())
}

/// The command as it could be typed.
pub(super) fn shell_line(command: &BackendCommandLine) -> String {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+<>".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word.clone(),
            false => format!("'{}'", out::clean(word).replace('\'', "'\\''")),
        }
    };
    let words: Vec<String> =
        [&command.program].into_iter().chain(&command.args).map(quoted).collect();
    words.join(" ")
}

pub(super) fn input(command: &BackendCommandLine) -> String {
    match &command.stdin {
        BackendStdin::Nothing => "nothing".into(),
        BackendStdin::Prompt => "the prompt below".into(),
        BackendStdin::Dialogue => "a dialogue; the prompt below is its first question".into(),
        BackendStdin::Text(text) => {
            format!("the prompt below within {}", out::count(text.len(), "byte"))
        }
    }
}

fn gate_line(gate: &Gate) -> String {
    let need = if gate.need == GateNeed::Required { "required" } else { "optional" };
    let limit = render_duration(gate.timeout);
    format!("{}  {}  ({need}, at most {limit})", gate.name, gate.command)
}

fn limits(found: &BuildPreview) -> String {
    let cost = found.max_cost.map_or_else(|| "no limit of cost".into(), words::dollars);
    let (timeout, idle) = (render_duration(found.timeout), render_duration(found.idle));
    let iterations = found.max_iterations;
    format!("{iterations} iterations, {cost}; one run: {timeout}, silent for {idle}")
}

fn as_json(found: &BuildPreview, gates: &[Gate], plan: &str) -> Value {
    let gates: Vec<Value> = gates
        .iter()
        .map(|gate| {
            json!({
                "name": gate.name, "command": gate.command,
                "required": gate.need == GateNeed::Required,
                "timeout_seconds": gate.timeout.as_secs(),
            })
        })
        .collect();
    let waiting: Vec<Value> =
        found.waiting.iter().map(|(id, why)| json!({ "id": id, "why": why })).collect();
    let mut value = json!({
        "plan": plan,
        "tasks": { "done": found.tally.finished(), "total": found.tally.total() },
        "recovers": found.recovers,
        "waiting": waiting,
        "gates": gates,
        "limits": {
            "max_iterations": found.max_iterations, "max_cost": found.max_cost,
            "timeout_seconds": found.timeout.as_secs(), "idle_seconds": found.idle.as_secs(),
        },
        "warnings": found.warnings,
    });
    let more = match &found.next {
        PreviewedStep::End(end) => json!({ "end": end.word(), "reason": end.reason() }),
        PreviewedStep::Attempt { iteration, task, max_retries, prompt, command, commit } => json!({
            "iteration": iteration, "task": task, "max_retries": max_retries,
            "prompt": prompt.text, "commit": commit,
            "backend": command,
        }),
    };
    if let (Some(all), Value::Object(more)) = (value.as_object_mut(), more) {
        all.extend(more);
    }
    value
}
