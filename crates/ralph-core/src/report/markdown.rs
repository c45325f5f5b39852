//! The report as Markdown: for a terminal, a commit or a chat.

use super::words::{amendment, doubts, effort, evidence, failing, failure, remarks, spec_state};
use super::{LandedTask, Report, SpecPart, WorkPlace};
use crate::text::{clip, one_line};
use crate::words::{elapsed, short};

/// Maximum length of a reason, in characters.
const REASON: usize = 300;

impl Report {
    /// Return the report as Markdown.
    pub fn markdown(&self) -> String {
        let mut page = ReportText(String::new());
        page.line(&format!("# {}: {}", plain(&self.project), self.headline()));
        page.line("");
        page.line(&format!("{}.", self.period()));
        if !self.is_empty() {
            page.line(&self.numbers());
        }
        self.write_needs(&mut page);
        if !self.specs.is_empty() {
            page.line("\n## Landed");
            self.specs.iter().for_each(|part| spec(&mut page, part));
            self.other_cost().iter().for_each(|other| page.line(&format!("\n{other}")));
        }
        self.write_failed(&mut page);
        if !self.amendments.is_empty() {
            page.title("Plan changed by agents");
            self.amendments.iter().for_each(|row| page.item(&plain(&amendment(row))));
        }
        self.write_stages(&mut page);
        if !self.runs.is_empty() {
            page.title("Runs");
            self.runs.iter().for_each(|run| page.item(&plain(&self.run(run))));
        }
        page.0
    }

    fn write_needs(&self, page: &mut ReportText) {
        if self.needs.is_empty() {
            return;
        }
        page.title("Needs you");
        for need in &self.needs {
            page.item(&titled(&need.text, ""));
            page.command(None, Some(&need.command));
        }
    }

    fn write_failed(&self, page: &mut ReportText) {
        if self.failed_specs.is_empty() && self.failed_tasks.is_empty() {
            return;
        }
        page.title("Failed");
        for spec in &self.failed_specs {
            page.item(&titled(&spec.spec, &spec.why));
            page.more(spec.kept.as_ref().map(|kept| format!("its work is kept: {}", code(kept))));
            page.command(Some("bring it back"), spec.restore.as_deref());
        }
        for task in &self.failed_tasks {
            let attempt = &task.attempt;
            let title = format!("{} {}", attempt.started.task, attempt.started.name);
            page.item(&titled(&title, &failure(task)));
            failing(task).iter().for_each(|line| page.more(Some(code(line))));
            page.command(
                Some("look at it"),
                Some(&format!("ralph show {}", attempt.started.iteration)),
            );
            page.command(Some("bring it back"), task.restore.as_deref());
        }
    }

    fn write_stages(&self, page: &mut ReportText) {
        if self.stages.is_empty() {
            return;
        }
        page.title("Time and cost");
        page.line("| stage | runs | time | cost |\n| --- | ---: | ---: | ---: |");
        for line in &self.stages {
            let (stage, time) = (plain(&line.name), elapsed(line.duration_ms / 1000));
            page.line(&format!("| {stage} | {} | {time} | {} |", line.count, line.cost));
        }
    }
}

fn spec(page: &mut ReportText, part: &SpecPart) {
    page.line(&match &part.spec {
        None => "\n### tasks without a spec".to_owned(),
        Some(spec) => format!("\n### {}: {}", plain(spec), plain(&spec_state(part))),
    });
    page.line(&format!("\n{}.", effort(part)));
    for commit in &part.commits {
        page.line(&format!("Commit {}.", code(short(commit))));
    }
    page.line("");
    // One task alone is undone with its spec.
    let own = part.tasks.iter().filter(|task| task.place == WorkPlace::Branch).count();
    let each = own > 1 || part.spec.is_none();
    for one in &part.tasks {
        task(page, one, one.undo.as_deref().filter(|_| each));
    }
    if let (Some(_), Some(undo)) = (&part.spec, &part.undo) {
        page.line(&format!("\nUndo all of it: {}", code(undo)));
    }
}

fn task(page: &mut ReportText, task: &LandedTask, undo: Option<&str>) {
    page.item(&titled(
        &format!("{} {}", task.attempt.started.task, task.attempt.started.name),
        &format!("{}; {}", evidence(task), remarks(task)),
    ));
    doubts(task).iter().for_each(|doubt| page.more(Some(plain(doubt))));
    page.command(Some("undo"), undo);
}

/// A text that grows line by line.
struct ReportText(String);

impl ReportText {
    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    fn title(&mut self, text: &str) {
        self.line(&format!("\n## {text}\n"));
    }

    fn item(&mut self, text: &str) {
        self.line(&format!("- {text}"));
    }

    fn more(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.line(&format!("  - {text}"));
        }
    }

    fn command(&mut self, what: Option<&str>, command: Option<&str>) {
        let what = what.map(|what| format!("{what}: ")).unwrap_or_default();
        self.more(command.map(|command| format!("{what}{}", code(command))));
    }
}

fn titled(title: &str, text: &str) -> String {
    match one_line(text).as_str() {
        "" => format!("**{}**", plain(title)),
        text => format!("**{}**: {}", plain(title), plain(text)),
    }
}

/// A text from elsewhere that stays a text: no markup, no line break.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let text = clip(&one_line(text), REASON);
    let mut signs = text.chars().peekable();
    while let Some(c) = signs.next() {
        // `<$0.01` is no tag, and people read this in a terminal too.
        let is_price = c == '<' && signs.peek() == Some(&'$');
        if "\\`*[]<>|".contains(c) && !is_price {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A code span, also of a text with ticks in it.
fn code(text: &str) -> String {
    let text = one_line(text);
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
