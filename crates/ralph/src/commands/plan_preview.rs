//! `ralph plan --dry-run`: what would be asked, and whom.

use ralph_core::construct::apply::ExistingTasks;
use ralph_host::drive::{PlanningRequest, PreviewInputs, preview_plan};
use serde_json::{Value, json};

use super::preview::{input, shell_line};
use crate::error::CommandError;
use crate::out::{self, LabelledRows, OutputMode};

pub(super) fn run(
    look: &PreviewInputs<'_>,
    plannings: &[PlanningRequest],
    render: OutputMode,
) -> Result<(), CommandError> {
    let found = preview_plan(look, plannings)?;
    if let Some(missing) = found.iter().find(|one| one.command.found.is_none()) {
        out::warn(format!("nobody could be asked: {} is not installed", missing.command.program));
    }
    if render == OutputMode::Json {
        let all: Vec<Value> = plannings
            .iter()
            .zip(&found)
            .map(|(planning, one)| {
                json!({
                    "spec": planning.spec, "open_tasks": fate(planning),
                    "prompt": one.prompt, "backend": one.command,
                })
            })
            .collect();
        return out::json(&json!({ "plan": look.shown, "would_plan": all }));
    }
    for (planning, one) in plannings.iter().zip(&found) {
        let mut rows = LabelledRows::default();
        rows.add("Plan", [look.shown]);
        let name = planning.spec.as_deref().unwrap_or("what was typed");
        rows.add("Spec", [format!("{name}; its open tasks {}", fate(planning))]);
        let model = one.command.model.as_ref().map(|m| format!(" {m}")).unwrap_or_default();
        rows.add("Backend", [format!("{}{model}", one.command.backend)]);
        rows.add("Command", [shell_line(&one.command)]);
        rows.add("Input", [input(&one.command)]);
        rows.add("Files", &one.command.files);
        rows.print()?;
        let size = out::count(one.prompt.len(), "byte");
        out::line(format!("\nPrompt ({size}):\n"))?;
        out::raw(&one.prompt)?;
    }
    Ok(())
}

/// Return the word for what happens to the open tasks of the spec.
fn fate(planning: &PlanningRequest) -> &'static str {
    match planning.existing {
        ExistingTasks::Merge => "stay",
        ExistingTasks::Replace => "go away",
    }
}
