//! The dependency graph: order, depth and cycles, without recursion.

use std::ops::Index;

use super::index;
use super::model::{Id, Task};

/// Dependencies among a set of tasks.
///
/// Nodes are positions in the slice that the graph was built from. Dependencies outside the set are
/// left out.
#[derive(Debug)]
pub(super) struct TaskGraph {
    /// For each task, those that it needs.
    pub(super) needs: AdjacencyLists,
    /// For each task, those that need it.
    pub(super) needed_by: AdjacencyLists,
    /// All tasks that are not part of or behind a cycle, each after those that it needs.
    pub(super) order: Vec<usize>,
}

/// A list for each task, all of them in one piece of memory: a large graph is walked in random order.
#[derive(Debug, Default)]
pub(super) struct AdjacencyLists {
    ends: Vec<usize>,
    all: Vec<usize>,
}

impl AdjacencyLists {
    fn push(&mut self, list: &[usize]) {
        self.all.extend_from_slice(list);
        self.ends.push(self.all.len());
    }

    /// Return the number of lists.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Return the length of each list.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|i| self[i].len())
    }

    /// For each place, in order, the lists that it is in.
    fn turned(&self) -> Self {
        let mut starts = vec![0; self.len() + 1];
        for &i in &self.all {
            starts[i + 1] += 1;
        }
        for i in 0..self.len() {
            starts[i + 1] += starts[i];
        }
        // Filling a list moves its start to its end, which is what is kept.
        let mut all = vec![0; self.all.len()];
        for list in 0..self.len() {
            for &i in &self[list] {
                all[starts[i]] = list;
                starts[i] += 1;
            }
        }
        starts.pop();
        Self { ends: starts, all }
    }
}

impl Index<usize> for AdjacencyLists {
    type Output = [usize];

    fn index(&self, list: usize) -> &[usize] {
        let start = list.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[list]]
    }
}

impl TaskGraph {
    /// Build the graph of `tasks`. Of two tasks with one id the first counts.
    pub(super) fn new(tasks: &[&Task]) -> Self {
        let at = index::IdIndex::new(tasks.iter().enumerate().map(|(i, t)| (t.id.as_str(), i)));
        let mut needs = AdjacencyLists::default();
        for task in tasks {
            let mut deps: Vec<usize> =
                task.deps.iter().filter_map(|d| at.get(d.as_str())).collect();
            deps.sort_unstable();
            deps.dedup();
            needs.push(&deps);
        }
        let needed_by = needs.turned();
        let order = order(&needs, &needed_by);
        Self { needs, needed_by, order }
    }

    /// For each task, the length of the longest chain of tasks that wait for it, itself not counted.
    /// Tasks in or behind a cycle count as 0.
    pub(super) fn depth_below(&self) -> Vec<usize> {
        let mut below = vec![0; self.needs.len()];
        for &i in self.order.iter().rev() {
            below[i] = self.needed_by[i].iter().map(|&d| below[d] + 1).max().unwrap_or(0);
        }
        below
    }

    /// For each task, the length of the longest chain of tasks that it waits for.
    pub(super) fn depth_above(&self) -> Vec<usize> {
        let mut above = vec![0; self.needs.len()];
        for &i in &self.order {
            above[i] = self.needs[i].iter().map(|&d| above[d] + 1).max().unwrap_or(0);
        }
        above
    }

    /// Cycles, each as the positions along it. Every task on some cycle's knot is reached, though
    /// a knot of several cycles is reported by one of them.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        const FREE: usize = usize::MAX;
        let mut open = vec![true; self.needs.len()];
        for &i in &self.order {
            open[i] = false;
        }
        let mut walked_by = vec![FREE; self.needs.len()];
        let mut cycles = Vec::new();
        for start in 0..self.needs.len() {
            if !open[start] || walked_by[start] != FREE {
                continue;
            }
            // Each node left needs another one that is left, so a walk ends where it has been.
            let mut path = Vec::new();
            let mut here = start;
            while walked_by[here] == FREE {
                walked_by[here] = start;
                path.push(here);
                match self.needs[here].iter().find(|&&d| open[d]) {
                    Some(&d) => here = d,
                    None => break,
                }
            }
            if walked_by[here] == start
                && let Some(from) = path.iter().position(|&p| p == here)
            {
                cycles.push(path.split_off(from));
            }
        }
        cycles
    }
}

/// Kahn's algorithm; what it cannot order is in or behind a cycle.
fn order(needs: &AdjacencyLists, needed_by: &AdjacencyLists) -> Vec<usize> {
    let mut missing: Vec<usize> = needs.lengths().collect();
    let mut order: Vec<usize> = (0..needs.len()).filter(|&i| missing[i] == 0).collect();
    let mut head = 0;
    while let Some(&i) = order.get(head) {
        head += 1;
        for &d in &needed_by[i] {
            missing[d] -= 1;
            if missing[d] == 0 {
                order.push(d);
            }
        }
    }
    order
}

/// The ids along each cycle among `tasks`.
pub fn cycles(tasks: &[&Task]) -> Vec<Vec<Id>> {
    TaskGraph::new(tasks)
        .cycles()
        .into_iter()
        .map(|cycle| cycle.into_iter().map(|i| tasks[i].id.clone()).collect())
        .collect()
}
