//! Output of findings: one line for each, printed as soon as it is known.

use ralph_core::doctor::{DoctorFinding, DoctorReport};
use serde::Serialize;
use serde_json::{Value, json};

use super::bundle::WrittenBundle;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Widths of the first two columns: the longest word and two spaces.
const STATE: usize = 9;
const AREA: usize = 12;

/// Prints lines at once, or one JSON value at the end.
pub(super) struct DoctorPrinter {
    render: OutputMode,
    fixed: Vec<AppliedFix>,
    bundle: Option<WrittenBundle>,
}

/// Result of one remedy of `--fix`.
#[derive(Serialize)]
struct AppliedFix {
    /// `fixed` or `failed`.
    result: &'static str,
    /// Description of the fix, or the reason why it failed.
    what: String,
}

impl DoctorPrinter {
    pub(super) fn new(render: OutputMode) -> Self {
        Self { render, fixed: Vec::new(), bundle: None }
    }

    fn line(&self, text: &str) -> Result<(), CommandError> {
        match self.render {
            OutputMode::People => out::line(text),
            OutputMode::Json => Ok(()),
        }
    }

    pub(super) fn nothing_to_fix(&self) -> Result<(), CommandError> {
        self.line("There is nothing that --fix could mend.\n")
    }

    /// Print and record the result of one remedy.
    pub(super) fn mended(&mut self, done: Result<String, String>) -> Result<(), CommandError> {
        let (result, what) = match done {
            Ok(text) => ("fixed", text),
            Err(why) => ("failed", why),
        };
        self.line(&format!("{result:STATE$}{}", out::clean(&what)))?;
        self.fixed.push(AppliedFix { result, what });
        Ok(())
    }

    pub(super) fn finding(&self, finding: &DoctorFinding) -> Result<(), CommandError> {
        lines(finding).iter().try_for_each(|line| self.line(line))
    }

    pub(super) fn summary(&self, report: &DoctorReport) -> Result<(), CommandError> {
        self.line(&format!("\n{}", report.summary()))
    }

    pub(super) fn bundle(&mut self, written: WrittenBundle) -> Result<(), CommandError> {
        self.line(&format!("\nWrote {} with:", written.file))?;
        for part in &written.parts {
            self.line(&format!("  {part}"))?;
        }
        self.line("Secrets that ralph knows are hidden. Read it before you send it.")?;
        self.bundle = Some(written);
        Ok(())
    }

    pub(super) fn end(&self, report: &DoctorReport) -> Result<(), CommandError> {
        if self.render == OutputMode::People {
            return Ok(());
        }
        let findings: Vec<Value> = report.findings.iter().map(DoctorFinding::to_json).collect();
        out::json(&json!({
            "problem": report.has_problem(),
            "findings": findings,
            "fixed": self.fixed,
            "bundle": self.bundle,
        }))
    }
}

/// A finding for people: what, and below it what to do.
pub(super) fn lines(finding: &DoctorFinding) -> Vec<String> {
    let (state, area) = (finding.state.as_str(), finding.area.as_str());
    let what = out::clean(&finding.what);
    let first = format!("{state:STATE$}{area:AREA$}{what}");
    let fix = finding
        .fix
        .as_ref()
        .map(|fix| format!("{:width$}fix: {}", "", out::clean(fix), width = STATE + AREA));
    std::iter::once(first).chain(fix).collect()
}
