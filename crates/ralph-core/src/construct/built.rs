//! Results of BUILD, computed from the plans before and after it.

use crate::cycle::StageResult;
use crate::plan::{Id, Plan, TaskState, TombstoneKind};

/// Return the results that the difference between two plans shows.
pub fn built(before: &Plan, after: &Plan) -> StageResult {
    let mut came = StageResult::default();
    for task in &after.tasks {
        let was = before.task(&task.id);
        if was.is_none() {
            came.created.push(task.id.clone());
        }
        if was.is_some_and(|was| was.state == task.state) {
            continue;
        }
        match task.state {
            TaskState::Done | TaskState::Accepted => came.built.push(task.id.clone()),
            TaskState::Killed(_) => came.killed.push(task.id.clone()),
            TaskState::Failed(_) => came.failed.push(task.id.clone()),
            TaskState::Blocked(_) => came.blocked.push(task.id.clone()),
            _ => {}
        }
    }
    for task in before.tasks.iter().filter(|task| after.task(&task.id).is_none()) {
        match buried(after, &task.id) {
            Some(TombstoneKind::Accept) => came.built.push(task.id.clone()),
            Some(TombstoneKind::Reject) => came.failed.push(task.id.clone()),
            Some(TombstoneKind::Delete) | None => {}
        }
    }
    let new = after.issues.iter().filter(|issue| before.issue(&issue.id).is_none());
    came.raised = new.map(|issue| issue.id.clone()).collect();
    came
}

fn buried(plan: &Plan, id: &Id) -> Option<TombstoneKind> {
    plan.buried().filter(|stone| stone.id == *id).last().map(|stone| stone.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{PlanFormat, codec};

    fn plan(text: &str) -> Plan {
        codec(PlanFormat::Jsonl).parse(text).unwrap()
    }

    #[test]
    fn what_was_done_killed_and_raised_in_a_build_is_told() {
        let before = plan(
            "{\"t\":\"task\",\"id\":\"t-0001\",\"name\":\"a\",\"s\":\"p\"}\n\
             {\"t\":\"task\",\"id\":\"t-0002\",\"name\":\"b\",\"s\":\"p\"}\n\
             {\"t\":\"task\",\"id\":\"t-0003\",\"name\":\"c\",\"s\":\"p\"}\n",
        );
        let after = plan(
            "{\"t\":\"task\",\"id\":\"t-0001\",\"name\":\"a\",\"s\":\"d\"}\n\
             {\"t\":\"task\",\"id\":\"t-0002\",\"name\":\"b\",\"s\":\"p\",\"kill_reason\":\"timeout\"}\n\
             {\"t\":\"reject\",\"id\":\"t-0003\",\"name\":\"c\",\"reason\":\"no\",\"at\":\"2026-01-01T00:00:00Z\"}\n\
             {\"t\":\"task\",\"id\":\"t-0004\",\"name\":\"d\",\"s\":\"p\"}\n\
             {\"t\":\"issue\",\"id\":\"i-0001\",\"desc\":\"why\"}\n",
        );
        let came = built(&before, &after);
        let ids = |ids: &[Id]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(ids(&came.built), ["t-0001"]);
        assert_eq!(ids(&came.killed), ["t-0002"]);
        assert_eq!(ids(&came.failed), ["t-0003"]);
        assert_eq!(ids(&came.created), ["t-0004"]);
        assert_eq!(ids(&came.raised), ["i-0001"]);
    }
}
