//! Statistics of the work: cost and tokens over time, first-try success, numbers for each model.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::between;
use crate::agent_role::AgentRole;
use crate::cost_sum::CostSum;
use crate::cycle::{
    AttemptState, AttemptView, BackendSpending, FailureKind, History, LandingExtent,
};

/// Points of a curve that a face is given; more are added up.
const MOST_POINTS: usize = 400;

/// Everything about how the work went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WorkNumbers {
    /// Number of all attempts.
    pub attempts: usize,
    /// Number of attempts that finished their task.
    pub landed: usize,
    /// Number of attempts that landed a part of their task.
    pub partial: usize,
    /// Attempts that were rolled back and counted.
    pub failed: usize,
    /// Attempts that did not count: usage limits and interruptions.
    pub uncounted: usize,
    /// Tasks whose first attempt has ended.
    pub tasks_tried: usize,
    /// Of these, tasks that the first attempt finished.
    pub first_try: usize,
    /// Attempts after the first on the same task.
    pub retries: usize,
    /// The cost of all attempts and consultations.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Input tokens of the group.
    pub tokens_in: u64,
    /// Output tokens of the group.
    pub tokens_out: u64,
    /// Working time of the backends in attempts, in seconds.
    pub backend_s: u64,
    /// Seconds from the end of a backend to the end of its attempt: gates, landing, rolling back.
    pub gates_s: u64,
    /// Why attempts failed, most frequent first.
    pub failures: Vec<(String, usize)>,
    /// Distribution of attempts over the finished tasks: `[(attempts, tasks)]`.
    pub attempts_per_task: Vec<(usize, usize)>,
    /// Backend calls, grouped by backend and model.
    pub models: Vec<NumbersGroup>,
    /// Backend runs by stage, the longest first.
    pub stages: Vec<NumbersGroup>,
    /// Cost and tokens, added up over time.
    pub curve: Vec<NumbersPoint>,
}

/// Attempts or stages that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NumbersGroup {
    /// Name of the group: a stage, or a backend with its model.
    pub name: String,
    /// Number of attempts, or of backend calls in a group of a stage.
    pub count: usize,
    /// Number of attempts that landed.
    pub landed: usize,
    /// Cost of the group's backend calls.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Input tokens of the group.
    pub tokens_in: u64,
    /// Output tokens of the group.
    pub tokens_out: u64,
    /// Duration of all backend calls of the group, in milliseconds.
    pub duration_ms: u64,
}

/// Sums at a point in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NumbersPoint {
    /// Time of the point, RFC 3339.
    pub at: String,
    /// Cost in dollars up to this time.
    pub cost_usd: f64,
    /// Input tokens up to this time.
    pub tokens_in: u64,
    /// Output tokens up to this time.
    pub tokens_out: u64,
    /// Number of tasks that were finished up to this time.
    pub finished: usize,
}

/// Compute the statistics of a history.
pub fn numbers(history: &History) -> WorkNumbers {
    let mut sum = WorkNumbers { cost: CostSum::of_all_runs(history), ..WorkNumbers::default() };
    let mut tries = BTreeMap::<&str, usize>::new();
    let mut finished = BTreeMap::<&str, usize>::new();
    let mut failures = BTreeMap::<&'static str, usize>::new();
    let mut landed_then = Vec::new();
    for view in &history.attempts {
        count(&mut sum, view, &mut failures);
        if counts(view) {
            let task = view.started.task.as_str();
            let tried = tries.entry(task).or_default();
            *tried += 1;
            sum.retries += usize::from(*tried > 1);
            let done = is_done(view);
            if *tried == 1 {
                sum.tasks_tried += 1;
                sum.first_try += usize::from(done);
            }
            if done {
                finished.insert(task, *tried);
            }
        }
        // What was killed in the middle has spent, too.
        if view.backend.is_some() || view.fate != AttemptState::Open {
            landed_then.push((view.fate.is_landed(), finished.len()));
        }
    }
    add_spending(&mut sum, history, landed_then);
    sum.failures = failures.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect();
    sum.failures.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    sum.attempts_per_task = histogram(finished.into_values());
    sum
}

/// Add the cost and tokens of every backend call to `sum`, by model and over time.
///
/// `landed_then` has one item for each attempt whose backend ended: whether the attempt landed, and
/// the number of tasks that were finished at that time.
fn add_spending(sum: &mut WorkNumbers, history: &History, landed_then: Vec<(bool, usize)>) {
    let mut models = BTreeMap::<String, NumbersGroup>::new();
    let mut stages = BTreeMap::<String, NumbersGroup>::new();
    let mut reached = NumbersPoint::default();
    let mut attempts = landed_then.into_iter();
    for spent in &history.spending {
        let attempt = (spent.role == AgentRole::Build).then(|| attempts.next()).flatten();
        let (tokens_in, tokens_out) = spent.tokens.unwrap_or_default();
        let name = match &spent.model {
            Some(model) => format!("{} {model}", spent.backend),
            None => spent.backend.clone(),
        };
        let landed = attempt.is_some_and(|(landed, _)| landed);
        let model = models.entry(name).or_default();
        model.add(spent);
        model.landed += usize::from(landed);
        model.count += usize::from(attempt.is_some());
        let stage = stages.entry(spent.role.stage().as_str().to_owned()).or_default();
        stage.add(spent);
        stage.landed += usize::from(landed);
        stage.count += 1;
        reached = NumbersPoint {
            at: spent.at.clone(),
            cost_usd: reached.cost_usd + spent.cost.unwrap_or(0.0),
            tokens_in: reached.tokens_in + tokens_in,
            tokens_out: reached.tokens_out + tokens_out,
            finished: attempt.map_or(reached.finished, |(_, finished)| finished),
        };
        sum.curve.push(reached.clone());
    }
    sum.tokens_in = reached.tokens_in;
    sum.tokens_out = reached.tokens_out;
    sum.curve = thin(std::mem::take(&mut sum.curve));
    sum.models = named(models);
    sum.stages = named(stages);
    sum.stages.sort_by_key(|stage| std::cmp::Reverse(stage.duration_ms));
}

impl NumbersGroup {
    /// One more run of a backend; what it is counted as is for the caller to say.
    pub(crate) fn add(&mut self, spent: &BackendSpending) {
        let (tokens_in, tokens_out) = spent.tokens.unwrap_or_default();
        self.cost.add(spent.cost);
        self.tokens_in += tokens_in;
        self.tokens_out += tokens_out;
        self.duration_ms = self.duration_ms.saturating_add(spent.took_ms);
    }
}

fn count(sum: &mut WorkNumbers, view: &AttemptView, failures: &mut BTreeMap<&'static str, usize>) {
    sum.attempts += 1;
    match &view.fate {
        AttemptState::Open | AttemptState::Interrupted => {}
        AttemptState::Limited => sum.uncounted += 1,
        AttemptState::Landed { landing: LandingExtent::Complete, .. } => sum.landed += 1,
        AttemptState::Landed { landing: LandingExtent::Partial, .. } => sum.partial += 1,
        AttemptState::Failed { failure, .. } if failure.kind == FailureKind::Interrupted => {
            sum.uncounted += 1;
        }
        AttemptState::Failed { failure, .. } => {
            sum.failed += 1;
            *failures.entry(failure.kind.words()).or_default() += 1;
        }
    }
    if let Some(end) = &view.backend {
        sum.backend_s += end.took_ms / 1000;
        let all = view.ended_at.as_deref().and_then(|to| between(&view.at, to)).unwrap_or(0);
        sum.gates_s += all.saturating_sub(end.took_ms / 1000);
    }
}

fn counts(view: &AttemptView) -> bool {
    view.fate.is_landed() || view.fate.is_failed()
}

fn is_done(view: &AttemptView) -> bool {
    matches!(view.fate, AttemptState::Landed { landing: LandingExtent::Complete, .. })
}

fn named(groups: BTreeMap<String, NumbersGroup>) -> Vec<NumbersGroup> {
    groups.into_iter().map(|(name, group)| NumbersGroup { name, ..group }).collect()
}

fn histogram(values: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut bars = BTreeMap::<usize, usize>::new();
    for value in values {
        *bars.entry(value).or_default() += 1;
    }
    bars.into_iter().collect()
}

/// A curve with at most so many points, the first and the last among them.
fn thin(points: Vec<NumbersPoint>) -> Vec<NumbersPoint> {
    let last = points.len().saturating_sub(1);
    if last < MOST_POINTS {
        return points;
    }
    let keep: BTreeSet<usize> = (0..MOST_POINTS).map(|n| n * last / (MOST_POINTS - 1)).collect();
    points.into_iter().enumerate().filter(|(n, _)| keep.contains(n)).map(|(_, p)| p).collect()
}
