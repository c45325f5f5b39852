//! Changes that the journal records of an attempt make to a history.

use super::{
    AttemptBase, AttemptFailure, AttemptStart, AttemptState, AttemptView, BackendEnd,
    BackendOutcome, BackendSpending, Candidate, DiscardedAttempt, FailureKind, GateVerdict,
    History, Id, LandedAttempt, LandedBranch, LandingExtent, OpenAttempt, Proof,
};
use crate::agent_role::AgentRole;

impl History {
    pub(super) fn begin(&mut self, started: &AttemptStart, base: &AttemptBase, at: &str) {
        self.counted = self.counted.saturating_add(1);
        self.iteration = self.iteration.max(started.iteration);
        self.last_task = Some(started.task.clone());
        self.given = std::mem::take(&mut self.notes);
        self.researched = None;
        self.gates.clear();
        self.wait.take_if(|wait| wait.backend == started.backend);
        self.open = Some(OpenAttempt {
            started: started.clone(),
            base: base.clone(),
            ended: None,
            candidate: Candidate::default(),
            intent: None,
            failure: None,
            crashes: self.crashes_of(&started.task),
        });
        // What only recovery needs is in `open`; a long journal has to fit into little memory.
        self.attempts.push(AttemptView {
            started: started.clone(),
            at: at.to_owned(),
            ended_at: None,
            backend: None,
            verdict: None,
            fate: AttemptState::Open,
            branch: LandedBranch::Unknown,
        });
    }

    pub(super) fn backend_ended(&mut self, end: &BackendEnd, candidate: &Candidate, at: &str) {
        let started = self.view(&end.attempt).map(|view| view.started.clone()).unwrap_or_default();
        self.spend(BackendSpending {
            at: at.to_owned(),
            backend: started.backend,
            model: started.model,
            role: AgentRole::Build,
            cost: end.cost,
            tokens: end.tokens,
            took_ms: end.took_ms,
        });
        if !end.outcome.is_limit() {
            self.unindexed.iterations = self.unindexed.iterations.saturating_add(1);
            self.unindexed.bytes = self.unindexed.bytes.saturating_add(end.handoff_bytes);
        }
        if let Some(view) = self.view(&end.attempt) {
            view.backend = Some(end.clone());
        }
        if let Some(open) = self.opened(&end.attempt) {
            open.ended = Some(end.clone());
            open.candidate = candidate.clone();
        }
    }

    pub(super) fn spend(&mut self, spending: BackendSpending) {
        match spending.cost {
            Some(cost) => {
                self.cost += cost;
                self.total_cost += cost;
            }
            None => self.cost_unknown = true,
        }
        self.spending.push(spending);
    }

    /// The attempt with this id, while it is under way.
    pub(super) fn opened(&mut self, attempt: &str) -> Option<&mut OpenAttempt> {
        self.open.as_mut().filter(|open| open.started.attempt == attempt)
    }

    pub(super) fn judged(&mut self, verdict: &GateVerdict) {
        let place = self.attempts.iter().rposition(|v| v.started.attempt == verdict.attempt);
        let Some((place, view)) = place.and_then(|at| Some((at, self.attempts.get(at)?))) else {
            return;
        };
        let task = view.started.task.clone();
        // Before the new one is in its place: after a crash it may be the second on the same attempt.
        self.drop_excerpts(&task);
        self.attempts[place].verdict = Some(verdict.clone());
        if !verdict.passed() {
            self.red.insert(task, place);
        }
    }

    /// Nobody asks for the output of a red gate after a newer verdict on the task, and a long journal
    /// has to fit into little memory.
    fn drop_excerpts(&mut self, task: &str) {
        let old = self.red.remove(task).and_then(|at| self.attempts.get_mut(at)?.verdict.as_mut());
        for check in old.into_iter().flat_map(|verdict| &mut verdict.checks) {
            check.excerpt = String::new();
        }
    }

    pub(super) fn landed(&mut self, landed: &LandedAttempt, at: &str) {
        let attempt = landed.attempt.as_str();
        let Some(open) = self.open.take_if(|o| o.started.attempt == attempt) else { return };
        // Nothing lands without an intent; should one be missing, the least is taken for granted.
        let (landing, proof) =
            open.intent.map_or((LandingExtent::Partial, Proof::Unproven), |intent| {
                (intent.landing, intent.proof)
            });
        self.crashes.remove(&open.started.task);
        self.drop_excerpts(&open.started.task);
        let branch = self.arrival.as_ref().map(|line| LandedBranch::Named(line.branch.clone()));
        if let Some(view) = self.view(attempt) {
            view.ended_at = Some(at.to_owned());
            view.fate = AttemptState::Landed { commit: landed.commit.clone(), landing, proof };
            view.branch = branch.unwrap_or_default();
        }
    }

    pub(super) fn rolled_back(&mut self, discarded: &DiscardedAttempt, at: &str) {
        let attempt = discarded.attempt.as_str();
        let Some(open) = self.open.take_if(|o| o.started.attempt == attempt) else { return };
        let limited = open.ended.as_ref().is_some_and(|end| end.outcome.is_limit());
        let failure = match open.failure {
            Some(intent) => intent.failure,
            None => unplanned(open.ended.as_ref()),
        };
        let by_hand = failure.kind == FailureKind::Interrupted
            && self.ended.take_if(|ended| ended == attempt).is_some();
        match failure.kind {
            _ if by_hand => {}
            FailureKind::Crashed => self.crashed(&open.started.task),
            // A run that was ended on purpose, or that learnt nothing, is no crash.
            FailureKind::Interrupted
                if open.ended.as_ref().is_none_or(|end| end.outcome == BackendOutcome::Success) =>
            {
                self.crashed(&open.started.task);
            }
            FailureKind::Budget => self.out_of_money = true,
            _ => {}
        }
        if failure.kind == FailureKind::Interrupted {
            self.notes.splice(0..0, std::mem::take(&mut self.given));
        }
        if (limited || by_hand) && self.run.as_ref().is_some_and(|run| run.run == open.started.run)
        {
            self.counted = self.counted.saturating_sub(1);
        }
        if open.ended.is_none() {
            self.spend(BackendSpending {
                at: at.to_owned(),
                backend: open.started.backend.clone(),
                model: open.started.model.clone(),
                role: AgentRole::Build,
                cost: None,
                tokens: None,
                took_ms: 0,
            });
        }
        let Some(view) = self.view(attempt) else { return };
        view.ended_at = Some(at.to_owned());
        view.fate = match limited {
            true => AttemptState::Limited,
            false => AttemptState::Failed { failure, salvage: discarded.salvage.clone() },
        };
    }

    /// A verifier accepted these tasks, which proves what no gate could.
    pub(super) fn reviewed(&mut self, tasks: &[Id]) {
        for view in self.attempts.iter_mut().skip(self.loop_from) {
            if let AttemptState::Landed { proof: proof @ Proof::Unproven, .. } = &mut view.fate
                && tasks.iter().any(|id| id.as_str() == view.started.task)
            {
                *proof = Proof::Reviewed;
            }
        }
    }

    fn crashed(&mut self, task: &str) {
        let crashes = self.crashes.entry(task.to_owned()).or_default();
        *crashes = crashes.saturating_add(1);
    }

    /// The attempt with this id; the newest come first, since they are asked for most.
    fn view(&mut self, attempt: &str) -> Option<&mut AttemptView> {
        self.attempts.iter_mut().rev().find(|view| view.started.attempt == attempt)
    }
}

/// Why an attempt was rolled back without an intent: nothing is counted.
fn unplanned(ended: Option<&BackendEnd>) -> AttemptFailure {
    let message = ended.map(|end| end.outcome.to_string());
    let message = message.unwrap_or_else(|| "it was rolled back".to_owned());
    AttemptFailure::new(FailureKind::Interrupted, message)
}
