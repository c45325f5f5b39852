//! `ralph validate`: what is wrong with a plan.

use std::process::ExitCode;

use clap::Args;
use ralph_core::plan::{self, PlanSeverity};
use serde_json::json;

use crate::args::CommonArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Check the plan: cycles, missing dependencies, duplicate ids, vague criteria
///
/// Prints one line for each finding, with file and line. Ends with 1 when there are errors;
/// warnings alone end with 0.
///
/// Examples:
///   ralph validate
///   ralph validate --plan plan.json --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(context: &CommandContext, args: &ValidateArgs) -> Result<ExitCode, CommandError> {
    let file = context.read_plan(&args.common.plan)?;
    let findings = plan::validate(&file.plan);
    let errors = findings.iter().filter(|f| f.severity == PlanSeverity::Error).count();
    let code = if errors > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS };
    if args.common.render() == OutputMode::Json {
        out::json(&json!({ "plan": file.shown, "findings": findings }))?;
        return Ok(code);
    }
    for finding in &findings {
        let word = match finding.severity {
            PlanSeverity::Error => "error",
            PlanSeverity::Warning => "warning",
        };
        let message = out::clean(&finding.message);
        out::line(format!("{}:{}: {word}: {message}", file.shown, finding.line))?;
    }
    let tasks = out::count(file.plan.tasks.len(), "task");
    let issues = out::count(file.plan.issues.len(), "issue");
    let summary = match (errors, findings.len() - errors) {
        (0, 0) => format!("{}: {tasks}, {issues}, nothing wrong", file.shown),
        (errors, warnings) => format!(
            "{}: {}, {}",
            file.shown,
            out::count(errors, "error"),
            out::count(warnings, "warning")
        ),
    };
    out::line(summary)?;
    Ok(code)
}
