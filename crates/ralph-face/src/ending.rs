//! How a loop ended: the reason, what remains, and what a person can do about it.

use ralph_core::cycle::{LoopEnd, RunCommand, RunEnd};
use ralph_core::needs::{Need, NeedKind};

use crate::line::{ScreenLine, ScreenStyle};
use crate::words::{count, took};

/// Most needs that the end of a run lists.
const NEEDS: usize = 5;

/// The last lines of a run. The first one has the reason and what remains. An agent has said that
/// itself, spec by spec.
pub fn ending(run: &RunEnd) -> Vec<ScreenLine> {
    let RunEnd { end, command, .. } = run;
    let hints = next(*command, end, &run.needs).into_iter();
    let hints = hints.map(|hint| {
        ScreenLine::of(ScreenStyle::Strong, "Next: ").hang_here().add(ScreenStyle::Plain, hint)
    });
    if *command == RunCommand::Agent {
        return hints.collect();
    }
    let (style, word) = match end {
        LoopEnd::Complete => (ScreenStyle::Good, "Complete"),
        LoopEnd::TaskComplete(_) | LoopEnd::OnceLanded => (ScreenStyle::Good, "Stopped"),
        LoopEnd::Blocked { .. } => (ScreenStyle::Bad, "Blocked"),
        LoopEnd::Unproven { .. } => (ScreenStyle::Bad, "Unproven"),
        LoopEnd::Waiting { .. } => (ScreenStyle::Bad, "Waiting"),
        LoopEnd::Backend { .. }
        | LoopEnd::Gate { .. }
        | LoopEnd::FalseDone
        | LoopEnd::Breaker(_)
        | LoopEnd::NotVerified { .. } => (ScreenStyle::Bad, "Stopped"),
        _ => (ScreenStyle::Caution, "Stopped"),
    };
    let mut first = format!(": {}.", run.reason.trim_end().trim_end_matches('.'));
    let numbers = numbers(run);
    let mut lines = Vec::new();
    if *end == LoopEnd::Complete {
        first.push_str(&format!(" {numbers}."));
    } else {
        first.push_str(&format!(" Tasks remaining: {}", run.remaining));
    }
    lines.push(ScreenLine::of(style, word).add(ScreenStyle::Plain, first));
    // A construct has said already what is left.
    let said = *command == RunCommand::Construct
        && matches!(end, LoopEnd::Blocked { .. } | LoopEnd::NotVerified { .. });
    let why = if said { &[] } else { why(end) };
    lines.extend(why.iter().map(|why| {
        ScreenLine::of(ScreenStyle::Plain, "  ").hang_here().add(ScreenStyle::Plain, why)
    }));
    if *end != LoopEnd::Complete {
        lines.push(ScreenLine::of(ScreenStyle::Faint, format!("{numbers}.")));
    }
    lines.extend(hints);
    lines
}

/// `5 landed in 7 attempts, $0.12, 3m 20s`.
fn numbers(run: &RunEnd) -> String {
    let (cost, took) = (run.cost.in_list(), took(run.took_ms));
    if run.attempts == 0 {
        return match run.command {
            RunCommand::Construct => format!("no task had to be worked on, {cost}, {took}"),
            _ => format!("nothing had to be run, {took}"),
        };
    }
    format!("{} landed in {}, {cost}, {took}", run.landed, count(run.attempts, "attempt"))
}

fn why(end: &LoopEnd) -> &[String] {
    match end {
        LoopEnd::Blocked { why } | LoopEnd::NotVerified { why } => why,
        LoopEnd::Breaker(tripped) => &tripped.evidence,
        _ => &[],
    }
}

/// What to do about it: what needs a person, and what only this end knows.
fn next(command: RunCommand, end: &LoopEnd, needs: &[Need]) -> Vec<String> {
    let own = match end {
        LoopEnd::Complete | LoopEnd::TaskComplete(_) | LoopEnd::OnceLanded => None,
        LoopEnd::Backend { advice, .. } => advice.clone(),
        LoopEnd::Gate { advice, .. } => Some(advice.clone()),
        LoopEnd::NoPlan { log, .. } => {
            log.as_ref().map(|log| format!("{log} has what the agent said"))
        }
        // Whoever asked for it knows how to go on.
        LoopEnd::Stopped if command == RunCommand::Agent => return Vec::new(),
        _ => None,
    };
    let shown = needs.iter().take(NEEDS).map(|need| match (need.kind, end) {
        // The first line has said it, or the lines below it.
        (NeedKind::Ended, _)
        | (_, LoopEnd::Blocked { .. } | LoopEnd::Unproven { .. } | LoopEnd::Waiting { .. }) => {
            need.hint()
        }
        _ => format!("{}: {}", need.hint(), need.text),
    });
    let more = needs.len().saturating_sub(NEEDS);
    let more = (more > 0).then(|| format!("`ralph status` shows {more} more"));
    own.into_iter().chain(shown).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use ralph_core::cost_sum::CostSum;
    use ralph_core::cycle::{BreakerTrip, LoopSignal};

    use super::*;
    use crate::line::Paint;

    fn run(command: RunCommand, end: &LoopEnd, needs: &[Need]) -> RunEnd {
        RunEnd {
            end: end.clone(),
            exit_code: 0,
            reason: end.reason(),
            command: command.to_owned(),
            remaining: 3,
            landed: 5,
            attempts: 7,
            cost: CostSum { usd: 0.12, unknown_runs: 0 },
            took_ms: 200_000,
            needs: needs.to_vec(),
            removed: Vec::new(),
        }
    }

    fn need(task: &str) -> Need {
        Need {
            kind: NeedKind::Blocked,
            task: Some(task.to_owned()),
            spec: None,
            text: format!("{task} is blocked: no key"),
            command: format!("ralph task retry {task}"),
            effect: "gives it another attempt".into(),
        }
    }

    fn said(end: &LoopEnd, needs: &[Need]) -> String {
        let lines = ending(&run(RunCommand::Build, end, needs));
        lines.iter().map(|line| line.paint(Paint::None)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_end_is_told_with_its_reason_and_what_remains() {
        assert_eq!(
            ending(&run(RunCommand::Build, &LoopEnd::Complete, &[]))[0].text(),
            "Complete: all tasks complete. 5 landed in 7 attempts, $0.12, 3m 20s."
        );
        assert_eq!(
            said(&LoopEnd::MaxIterations(20), &[]),
            "Stopped: max iterations (20) reached. Tasks remaining: 3\n\
             5 landed in 7 attempts, $0.12, 3m 20s."
        );
        assert!(
            said(&LoopEnd::Interrupted(LoopSignal::Interrupt), &[])
                .starts_with("Stopped: interrupted. Tasks remaining: 3\n")
        );
    }

    #[test]
    fn a_blocked_run_says_why_for_each_task_and_a_command_for_each() {
        let why = vec!["t-aaaa: blocked: no key".to_owned(), "t-bbbb: blocked: no key".to_owned()];
        let said = said(&LoopEnd::Blocked { why }, &[need("t-aaaa"), need("t-bbbb")]);
        assert!(said.starts_with(
            "Blocked: no task can run. Tasks remaining: 3\n  t-aaaa: blocked: no key\n  t-bbbb: blo"
        ));
        let hint =
            "Next: `ralph task retry t-aaaa` gives it another attempt\nNext: `ralph task retry t-b";
        assert!(said.contains(hint), "{said}");
    }

    #[test]
    fn an_agent_has_said_how_it_ended_and_only_what_to_do_is_left() {
        let end = LoopEnd::Interrupted(LoopSignal::Interrupt);
        let lines = ending(&run(RunCommand::Agent, &end, &[need("t-aaaa")]));
        assert_eq!(lines.len(), 1);
        assert_eq!(
            lines[0].text(),
            "Next: `ralph task retry t-aaaa` gives it another attempt: t-aaaa is blocked: no key"
        );
        assert!(ending(&run(RunCommand::Agent, &LoopEnd::Complete, &[])).is_empty());
    }

    #[test]
    fn the_breaker_shows_its_evidence() {
        let evidence = vec!["iteration 4, t-aaaa: gates failed".to_owned()];
        let end =
            LoopEnd::Breaker(BreakerTrip { reason: "the same failure 3 times".into(), evidence });
        assert_eq!(
            said(&end, &[]),
            "Stopped: no progress: the same failure 3 times. Tasks remaining: 3\n  \
             iteration 4, t-aaaa: gates failed\n5 landed in 7 attempts, $0.12, 3m 20s."
        );
    }
}
