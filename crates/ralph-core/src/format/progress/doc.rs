//! A progress file taken apart: sections, phases, tasks and attempts, each with its place.

use std::ops::Range;

use super::attempts::{self, AttemptEntry};
use super::lines;
use super::outline::{self, MarkdownOutline};
use super::tasks::{self, TaskSpan};
use crate::format::ParseError;
use crate::text::position;

/// The sections of a progress file, in the order in which they are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProgressSectionKind {
    Status,
    Analysis,
    Tasks,
    Testing,
    Completed,
    Attempts,
    Log,
}

impl ProgressSectionKind {
    pub(super) const ALL: [Self; 7] = [
        Self::Status,
        Self::Analysis,
        Self::Tasks,
        Self::Testing,
        Self::Completed,
        Self::Attempts,
        Self::Log,
    ];

    /// Return the text of the section's heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Status => "Status",
            Self::Analysis => "Analysis",
            Self::Tasks => "Tasks",
            Self::Testing => "Testing Strategy",
            Self::Completed => "Completed This Iteration",
            Self::Attempts => "Recent Attempts",
            Self::Log => "Iteration Log",
        }
    }

    /// Return the section's heading as a markdown line.
    pub(super) fn heading(self) -> String {
        format!("## {}", self.title())
    }

    fn from_title(title: &str) -> Option<Self> {
        let words = words(title);
        Self::ALL.into_iter().find(|k| k.title().to_lowercase() == words)
    }
}

/// The words of a heading in lower case: decoration, emphasis and punctuation do not matter.
pub(super) fn words(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// One `## …` with what stands under it.
pub(super) struct ProgressSection {
    pub(super) kind: Option<ProgressSectionKind>,
    pub(super) start: usize,
    /// From the line below the heading to the next heading of its level or above.
    pub(super) body: Range<usize>,
    /// Headings inside the section, as indexes into the outline's headings.
    pub(super) headings: Range<usize>,
}

/// A part of a Tasks section: what stands under one phase heading, or before the first.
pub(super) struct PhaseRegion {
    pub(super) phase: Option<String>,
    pub(super) body: Range<usize>,
    pub(super) tasks: Range<usize>,
}

pub(super) struct ProgressDoc<'t> {
    pub(super) text: &'t str,
    pub(super) outline: MarkdownOutline,
    pub(super) title: Option<String>,
    pub(super) sections: Vec<ProgressSection>,
    pub(super) regions: Vec<PhaseRegion>,
    pub(super) tasks: Vec<TaskSpan>,
    pub(super) entries: Vec<AttemptEntry>,
}

impl<'t> ProgressDoc<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, ParseError> {
        check_text(text)?;
        let outline = MarkdownOutline::of(text);
        let sections = sections(text, &outline);
        let title = outline.headings.iter().find(|h| h.level == 1).map(|h| h.title.as_str());
        let is_titled = title.is_some_and(|t| progress_name(t).is_some());
        if !is_titled && !sections.iter().any(|s| s.kind == Some(ProgressSectionKind::Tasks)) {
            return Err(ParseError::new(
                1,
                "this is not a progress file: it needs a title `# Progress: <name>` \
                 or a section `## Tasks`",
            ));
        }
        let title = title.map(|t| progress_name(t).unwrap_or(t).to_owned());
        let mut doc = Self {
            text,
            outline,
            title: title.filter(|t| !t.is_empty()),
            sections,
            regions: Vec::new(),
            tasks: Vec::new(),
            entries: Vec::new(),
        };
        doc.entries = attempts::entries(&doc);
        doc.regions = doc.bare_regions();
        tasks::fill(&mut doc)?;
        Ok(doc)
    }

    /// The section of this kind that edits go to: the last one.
    pub(super) fn section(&self, kind: ProgressSectionKind) -> Option<&ProgressSection> {
        self.all(kind).last()
    }

    /// Return all sections of this kind, in file order.
    pub(super) fn all(
        &self,
        kind: ProgressSectionKind,
    ) -> impl DoubleEndedIterator<Item = &ProgressSection> {
        self.sections.iter().filter(move |s| s.kind == Some(kind))
    }

    /// Return the offset at which text can be appended to the content of `range`.
    ///
    /// It is the end of the last line that is neither blank nor a thematic break before the next part.
    pub(super) fn content_end(&self, range: Range<usize>) -> usize {
        let mut end = lines::content_end(self.text, range.clone());
        while end > range.start {
            let last = lines::at(self.text, range.start..end).trim_end_matches(['\n', '\r']);
            let line = lines::line_start(self.text, range.start + last.len());
            if !self.outline.is_rule(line) {
                break;
            }
            end = lines::content_end(self.text, range.start..line.max(range.start));
        }
        end
    }

    /// Return the offset at which a missing section is inserted.
    ///
    /// The section goes below its predecessor in the usual order, otherwise above its successor,
    /// otherwise to the end of the file.
    pub(super) fn place_for(&self, kind: ProgressSectionKind) -> usize {
        let (before, after): (Vec<ProgressSectionKind>, Vec<ProgressSectionKind>) =
            ProgressSectionKind::ALL.into_iter().partition(|k| *k < kind);
        if let Some(section) = before.into_iter().rev().find_map(|k| self.section(k)) {
            return self.content_end(section.body.clone());
        }
        let following = after.into_iter().find_map(|k| self.all(k).next());
        following.map_or_else(|| self.content_end(0..self.text.len()), |s| s.start)
    }

    /// The parts of all Tasks sections, without their tasks.
    fn bare_regions(&self) -> Vec<PhaseRegion> {
        let mut regions = Vec::new();
        for section in self.all(ProgressSectionKind::Tasks) {
            let inner = self.outline.headings.get(section.headings.clone()).unwrap_or_default();
            let ends = inner.iter().map(|h| h.range.start).chain([section.body.end]);
            let starts = [(None, section.body.start)]
                .into_iter()
                .chain(inner.iter().map(|h| (Some(h.title.clone()), h.range.end)));
            regions.extend(starts.zip(ends).map(|((phase, start), end)| PhaseRegion {
                phase,
                body: start..end.max(start),
                tasks: 0..0,
            }));
        }
        regions
    }
}

/// Check that the text can be parsed as markdown: no NUL byte, and no extreme nesting.
fn check_text(text: &str) -> Result<(), ParseError> {
    if let Some(offset) = text.find('\0') {
        let line = position(text, offset).line;
        return Err(ParseError::new(line, "there is a NUL byte here: this is not a text file"));
    }
    match outline::too_deep(text) {
        Some(line) => Err(ParseError::new(line, "lists or quotations are nested too deep here")),
        None => Ok(()),
    }
}

/// The name in the title `Progress: name`.
fn progress_name(title: &str) -> Option<&str> {
    let (word, rest) = title.split_at_checked("progress".len())?;
    let rest = rest.trim_start();
    let separate = rest.is_empty() || rest.starts_with([':', '-', '–', '—']);
    (word.eq_ignore_ascii_case("progress") && separate)
        .then(|| rest.trim_start_matches([':', '-', '–', '—']).trim())
}

fn sections(text: &str, outline: &MarkdownOutline) -> Vec<ProgressSection> {
    let mut sections: Vec<ProgressSection> = Vec::new();
    let mut open = false;
    for (n, heading) in outline.headings.iter().enumerate() {
        if heading.level > 2 {
            continue;
        }
        if let Some(last) = sections.last_mut().filter(|_| open) {
            last.body.end = heading.range.start.max(last.body.start);
            last.headings.end = n;
        }
        open = heading.level == 2;
        if open {
            sections.push(ProgressSection {
                kind: ProgressSectionKind::from_title(&heading.title),
                start: heading.range.start,
                body: heading.range.end..text.len(),
                headings: n + 1..outline.headings.len(),
            });
        }
    }
    sections
}
