//! Placement of new tasks in progress.md, and the lines that they become.

use std::collections::BTreeMap;

use super::doc::{ProgressDoc, ProgressSectionKind};
use super::lines;
use super::wanted::TaskContent;
use crate::text::Splice;

/// A new task and its place.
pub(super) struct TaskAddition {
    pub(super) wanted: TaskContent,
    /// Byte offset in the old text at which the task is inserted.
    pub(super) at: usize,
    /// Index of this task among the tasks that the batch adds.
    pub(super) nth: usize,
    place: AdditionPlace,
}

/// A place for new tasks; of several at the same offset the smaller one comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AdditionPlace {
    /// Right after the task with this index, in the same list.
    After(usize),
    /// Into the region with this index, which has no task yet.
    Into(usize),
    /// Under no phase, in a new section.
    Unphased,
    /// Into the new phase with this index.
    Phase(usize),
}

/// The new tasks of a batch.
pub(super) struct TaskAdditions<'d> {
    doc: &'d ProgressDoc<'d>,
    /// The last region of each phase.
    regions: BTreeMap<Option<&'d str>, usize>,
    /// The phases to be made, in order.
    phases: Vec<String>,
    phase_index: BTreeMap<String, usize>,
    end: usize,
    all: Vec<TaskAddition>,
}

impl<'d> TaskAdditions<'d> {
    pub(super) fn new(doc: &'d ProgressDoc<'d>) -> Self {
        let end = match doc.section(ProgressSectionKind::Tasks) {
            Some(section) => doc.content_end(section.body.clone()),
            None => doc.place_for(ProgressSectionKind::Tasks),
        };
        let regions = doc.regions.iter().enumerate().map(|(n, r)| (r.phase.as_deref(), n));
        Self {
            doc,
            regions: regions.collect(),
            phases: Vec::new(),
            phase_index: BTreeMap::new(),
            end,
            all: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// One more task: after `anchor`, else at the end of its phase.
    pub(super) fn push(&mut self, wanted: TaskContent, anchor: Option<usize>) {
        let region = self.regions.get(&wanted.phase.as_deref()).copied();
        let last = region.and_then(|r| self.doc.regions[r].tasks.clone().next_back());
        let place = match (anchor.or(last), region) {
            (Some(task), _) => AdditionPlace::After(task),
            (None, Some(region)) => AdditionPlace::Into(region),
            (None, None) => self.new_place(wanted.phase.as_deref()),
        };
        let at = match place {
            AdditionPlace::After(task) => self.doc.tasks[task].item.end,
            AdditionPlace::Into(region) => {
                self.doc.content_end(self.doc.regions[region].body.clone())
            }
            AdditionPlace::Unphased | AdditionPlace::Phase(_) => self.end,
        };
        self.all.push(TaskAddition { wanted, at, nth: self.all.len(), place });
    }

    fn new_place(&mut self, phase: Option<&str>) -> AdditionPlace {
        let Some(phase) = phase else { return AdditionPlace::Unphased };
        if let Some(&n) = self.phase_index.get(phase) {
            return AdditionPlace::Phase(n);
        }
        let n = self.phases.len();
        self.phases.push(phase.to_owned());
        self.phase_index.insert(phase.to_owned(), n);
        AdditionPlace::Phase(n)
    }

    /// The new tasks in file order.
    pub(super) fn in_order(&self) -> Vec<&TaskAddition> {
        let mut all: Vec<&TaskAddition> = self.all.iter().collect();
        all.sort_by_key(|a| (a.at, a.place, a.nth));
        all
    }

    /// The new lines, in the order of [`Self::in_order`].
    pub(super) fn splices(&self) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut fresh: Vec<String> = Vec::new();
        for group in self.in_order().chunk_by(|a, b| a.place == b.place) {
            let (text, at) = (self.doc.text, group[0].at);
            match group[0].place {
                AdditionPlace::After(task) => {
                    splices.push(lines::insert(text, at, &self.siblings(task, group)))
                }
                AdditionPlace::Into(_) => splices.push(lines::insert_block(text, at, &list(group))),
                AdditionPlace::Unphased => fresh.extend(list(group)),
                AdditionPlace::Phase(n) => {
                    if !fresh.is_empty() {
                        fresh.push(String::new());
                    }
                    fresh.extend([format!("### {}", self.phases[n]), String::new()]);
                    fresh.extend(list(group));
                }
            }
        }
        if !fresh.is_empty() {
            if self.doc.section(ProgressSectionKind::Tasks).is_none() {
                fresh.splice(0..0, [ProgressSectionKind::Tasks.heading(), String::new()]);
            }
            splices.push(lines::insert_block(self.doc.text, self.end, &fresh));
        }
        splices
    }

    /// Tasks in the style of the one with index `task`, numbered on if that is numbered.
    fn siblings(&self, task: usize, group: &[&TaskAddition]) -> Vec<String> {
        let (text, span) = (self.doc.text, &self.doc.tasks[task]);
        let margin = lines::at(text, lines::line_start(text, span.item.start)..span.item.start);
        let margin = lines::blank_out(margin);
        let bullet = lines::at(text, span.lead.clone());
        let rest = bullet.trim_start_matches(|c: char| c.is_ascii_digit());
        let number: Option<u64> = lines::at(bullet, 0..bullet.len() - rest.len()).parse().ok();
        let render = |(n, addition): (u64, &&TaskAddition)| {
            let number = number.map(|first| (first + n).to_string()).unwrap_or_default();
            let lead = format!("{margin}{number}{rest}");
            task_lines(&addition.wanted, &lead)
        };
        (1..).zip(group).flat_map(render).collect()
    }
}

/// Tasks as a list of its own.
fn list(group: &[&TaskAddition]) -> Vec<String> {
    group.iter().flat_map(|a| task_lines(&a.wanted, "- ")).collect()
}

fn task_lines(wanted: &TaskContent, lead: &str) -> Vec<String> {
    let body = wanted.body(&lines::blank_out(lead));
    [wanted.line(lead)].into_iter().chain(body).collect()
}
