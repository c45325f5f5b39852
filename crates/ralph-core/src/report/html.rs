//! The report as one HTML file: no script, no network, light, dark and on paper.

use std::fmt::Write as _;

use super::chart;
use super::words::{
    amendment, doubts, effort, evidence, failing, failure, percent, remarks, spec_state,
};
use super::{LandedTask, Report, SpecPart, WorkPlace};
use crate::cycle::Proof;
use crate::text::{clip, one_line};
use crate::words::{elapsed, short};

const STYLE: &str = include_str!("style.css");
/// Maximum length of a reason, in characters.
const REASON: usize = 600;

impl Report {
    /// Return the report as an HTML page.
    pub fn html(&self) -> String {
        let mut page = String::new();
        let title = format!("{}: {}", self.project, self.headline());
        let _ = write!(
            page,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<p class=\"project\">{} <span>{}</span></p>\n<h1>{}</h1>\n</header>\n",
            escaped(&title),
            escaped(&self.project),
            escaped(&self.period()),
            escaped(&sentence(&self.headline()))
        );
        self.tiles(&mut page);
        self.needs_part(&mut page);
        if !self.specs.is_empty() {
            page.push_str("<section>\n<h2>Landed</h2>\n");
            self.specs.iter().for_each(|part| spec(&mut page, part));
            if let Some(other) = self.other_cost() {
                let _ = writeln!(page, "<p class=\"quiet\">{}</p>", escaped(&other));
            }
            page.push_str("</section>\n");
        }
        self.failed_part(&mut page);
        self.charts(&mut page);
        self.amendments_part(&mut page);
        self.runs_part(&mut page);
        page.push_str("</main>\n</body>\n</html>\n");
        page
    }

    fn tiles(&self, page: &mut String) {
        let t = &self.totals;
        if self.is_empty() {
            return;
        }
        let mut tiles = vec![(t.tasks_landed.to_string(), "tasks landed".to_owned())];
        if t.specs_done + t.specs_failed > 0 {
            let done = format!("{} of {}", t.specs_done, t.specs_done + t.specs_failed);
            tiles.insert(0, (done, "specs done".to_owned()));
        }
        if let Some(percent) = percent(t) {
            let of = format!("first try ({} of {})", t.first_try_landed, t.first_tries);
            tiles.push((format!("{percent} %"), of));
        }
        tiles.push((t.cost.to_string(), "cost".to_owned()));
        let waited = match t.waited_seconds {
            0 => String::new(),
            seconds => format!(", {} waiting", elapsed(seconds)),
        };
        tiles.push((elapsed(t.run_seconds), format!("running{waited}")));
        page.push_str("<ul class=\"tiles\">\n");
        for (number, label) in tiles {
            let (number, label) = (escaped(&number), escaped(&label));
            let _ = writeln!(page, "<li><strong>{number}</strong> {label}</li>");
        }
        page.push_str("</ul>\n");
    }

    fn needs_part(&self, page: &mut String) {
        if self.needs.is_empty() {
            return;
        }
        page.push_str("<section class=\"needs\">\n<h2>Needs you</h2>\n<ul>\n");
        for need in &self.needs {
            let _ = write!(page, "<li><b>{}</b>", text(&need.text));
            command(page, "", Some(&need.command));
            page.push_str("</li>\n");
        }
        page.push_str("</ul>\n</section>\n");
    }

    fn failed_part(&self, page: &mut String) {
        if self.failed_specs.is_empty() && self.failed_tasks.is_empty() {
            return;
        }
        page.push_str("<section>\n<h2>Failed</h2>\n<ul class=\"list\">\n");
        for spec in &self.failed_specs {
            let _ = write!(page, "<li><b>{}</b>{}", text(&spec.spec), why(&spec.why));
            if let Some(kept) = &spec.kept {
                let _ = write!(page, "<p class=\"quiet\">its work is kept: {}</p>", text(kept));
            }
            command(page, "bring it back", spec.restore.as_deref());
            page.push_str("</li>\n");
        }
        for task in &self.failed_tasks {
            let attempt = &task.attempt;
            let (id, name) = (text(&attempt.started.task), text(&attempt.started.name));
            let _ = write!(page, "<li><b>{id}</b> {name}{}", why(&failure(task)));
            for line in failing(task) {
                let _ = write!(page, "<p class=\"quiet\"><code>{}</code></p>", text(&line));
            }
            command(page, "look at it", Some(&format!("ralph show {}", attempt.started.iteration)));
            command(page, "bring it back", task.restore.as_deref());
            page.push_str("</li>\n");
        }
        page.push_str("</ul>\n</section>\n");
    }

    fn charts(&self, page: &mut String) {
        let attempts = format!("Attempts ({})", self.attempts.len());
        let legend = "<p class=\"legend\"><i class=\"good\"></i>landed <i class=\"bad\"></i>failed × \
                      <i class=\"idle\"></i>does not count ·</p>";
        let all = [
            ("Cost over time".to_owned(), chart::spending(self), ""),
            (attempts, chart::attempts(self), legend),
            ("Time per stage".to_owned(), chart::stages(self), ""),
        ];
        if all.iter().all(|(_, svg, _)| svg.is_none()) {
            return;
        }
        page.push_str("<section class=\"charts\">\n");
        for (title, svg, legend) in all {
            if let Some(svg) = svg {
                let title = escaped(&title);
                let _ = writeln!(
                    page,
                    "<figure><figcaption>{title}</figcaption>{svg}{legend}</figure>"
                );
            }
        }
        page.push_str("</section>\n");
    }

    fn amendments_part(&self, page: &mut String) {
        if self.amendments.is_empty() {
            return;
        }
        page.push_str("<section>\n<h2>Plan changed by agents</h2>\n<ul>\n");
        for row in &self.amendments {
            let _ = writeln!(page, "<li>{}</li>", text(&amendment(row)));
        }
        page.push_str("</ul>\n</section>\n");
    }

    fn runs_part(&self, page: &mut String) {
        let _ = writeln!(page, "<footer>\n<p>{}</p>", escaped(&self.numbers()));
        if !self.runs.is_empty() {
            page.push_str("<ul>\n");
            for run in &self.runs {
                let _ = writeln!(page, "<li>{}</li>", text(&self.run(run)));
            }
            page.push_str("</ul>\n");
        }
        page.push_str("</footer>\n");
    }
}

fn spec(page: &mut String, part: &SpecPart) {
    let (name, class, state) = match (&part.spec, part.done) {
        (None, _) => ("tasks without a spec", "", String::new()),
        (Some(spec), true) => (spec.as_str(), "done", spec_state(part)),
        (Some(spec), false) => (spec.as_str(), "open", spec_state(part)),
    };
    let _ = write!(page, "<article>\n<h3>{}", text(name));
    if !state.is_empty() {
        let _ = write!(page, " <span class=\"state {class}\">{}</span>", text(&state));
    }
    let commits: String =
        part.commits.iter().map(|c| format!(", commit <code>{}</code>", text(short(c)))).collect();
    let _ = write!(page, "</h3>\n<p class=\"quiet\">{}{commits}</p>\n", escaped(&effort(part)));
    let own = part.tasks.iter().filter(|task| task.place == WorkPlace::Branch).count();
    let each = own > 1 || part.spec.is_none();
    page.push_str("<ul class=\"list\">\n");
    for one in &part.tasks {
        task(page, one, one.undo.as_deref().filter(|_| each));
    }
    page.push_str("</ul>\n");
    if part.spec.is_some() {
        command(page, "undo all of it", part.undo.as_deref());
    }
    page.push_str("</article>\n");
}

fn task(page: &mut String, task: &LandedTask, undo: Option<&str>) {
    let class = if *task.proof() == Proof::Unproven { "doubt" } else { "proof" };
    let _ = write!(
        page,
        "<li><b>{}</b> {}<p><span class=\"{class}\">{}</span> <span class=\"quiet\">{}</span></p>",
        text(&task.attempt.started.task),
        text(&task.attempt.started.name),
        text(&evidence(task)),
        text(&remarks(task))
    );
    for doubt in doubts(task) {
        let _ = write!(page, "<p class=\"doubt\">{}</p>", text(&doubt));
    }
    command(page, "undo", undo);
    page.push_str("</li>\n");
}

fn command(page: &mut String, what: &str, command: Option<&str>) {
    if let Some(command) = command {
        let what = if what.is_empty() { String::new() } else { format!("<span>{what}</span> ") };
        let _ = write!(page, "<p class=\"command\">{what}<code>{}</code></p>", escaped(command));
    }
}

fn why(text: &str) -> String {
    match one_line(text).as_str() {
        "" => String::new(),
        why => format!("<p>{}</p>", self::text(why)),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|c| c.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// A text from elsewhere, on one line and not too long.
fn text(text: &str) -> String {
    escaped(&clip(&one_line(text), REASON))
}

/// A text that stays a text. Signs that turn the direction of reading would make it say something else.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
