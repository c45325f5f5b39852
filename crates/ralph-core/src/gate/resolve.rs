//! Selection of the gates of an attempt: which gates run, and which of them are required.

use std::collections::BTreeSet;

use super::model::{Gate, GateNeed};
use crate::config::{self, Config, GateKind, GateStrategy, gate_kind};
use crate::plan::Plan;

/// The gates of an attempt, in the order in which they run: those of the configuration (where
/// `RALPH_VALIDATION_COMMANDS` stands before `[[gates]]`), else those that the plan names. Gates that
/// the strategy leaves out are not among them.
pub fn resolve(config: &Config, plan: &Plan) -> Vec<Gate> {
    let mut taken = BTreeSet::new();
    let mut gates = if config.gates.is_empty() { of_plan(plan) } else { config.gates.clone() };
    gates.retain(|gate| !gate.command.trim().is_empty());
    gates
        .into_iter()
        .filter_map(|gate| {
            let kind = gate.checks();
            let need = needed(kind, gate.required, config.gate_strategy)?;
            let name = free_name(&gate, &mut taken);
            Some(Gate { name, command: gate.command, kind, need, timeout: gate.timeout.get() })
        })
        .collect()
}

/// Whether the failure of a gate counts; `None`: it does not run at all.
pub fn needed(kind: GateKind, required: Option<bool>, strategy: GateStrategy) -> Option<GateNeed> {
    match (required, kind, strategy) {
        (Some(true), ..) | (None, GateKind::Test, _) => Some(GateNeed::Required),
        (None, GateKind::Lint, GateStrategy::Strict) => Some(GateNeed::Required),
        (_, GateKind::Lint, GateStrategy::TestsOnly) => None,
        (Some(false), ..) | (None, GateKind::Lint, GateStrategy::Lenient) => {
            Some(GateNeed::Optional)
        }
    }
}

fn of_plan(plan: &Plan) -> Vec<config::GateSettings> {
    let gate = |gate: &crate::plan::PlanGate| config::GateSettings {
        name: gate.name.clone(),
        command: gate.command.clone(),
        // The name says more about the purpose than a command such as `bun run check`.
        kind: match gate_kind(&gate.name) {
            GateKind::Lint => Some(GateKind::Lint),
            GateKind::Test => None,
        },
        required: gate.required,
        timeout: config::Timeout::minutes(10),
    };
    plan.gates.iter().map(gate).collect()
}

/// The gate's name, or its command where it has none, made different from those before.
fn free_name(gate: &config::GateSettings, taken: &mut BTreeSet<String>) -> String {
    let given = if gate.name.trim().is_empty() { &gate.command } else { &gate.name };
    let mut name = given.trim().to_owned();
    for number in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{} {number}", given.trim());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::PlanFormat;

    fn config_gate(name: &str, command: &str, required: Option<bool>) -> config::GateSettings {
        let timeout = config::Timeout::minutes(1);
        config::GateSettings {
            name: name.into(),
            command: command.into(),
            kind: None,
            required,
            timeout,
        }
    }

    fn plan_with(gates: &[(&str, &str, Option<bool>)]) -> Plan {
        let mut plan = Plan::empty(PlanFormat::Implementation);
        for (name, command, required) in gates {
            plan.gates.push(crate::plan::PlanGate {
                name: (*name).into(),
                command: (*command).into(),
                required: *required,
            });
        }
        plan
    }

    #[test]
    fn configured_gates_stand_before_those_of_the_plan() {
        let plan =
            plan_with(&[("test", "bun run test", Some(true)), ("lint", "bun run check", None)]);
        let names = |config: &Config| -> Vec<String> {
            resolve(config, &plan).into_iter().map(|gate| gate.command).collect()
        };
        let mut config = Config::default();
        assert_eq!(names(&config), ["bun run test", "bun run check"]);
        config.gates = vec![config_gate("t", "cargo test", None)];
        assert_eq!(names(&config), ["cargo test"]);
    }

    #[test]
    fn each_strategy_decides_about_lint_and_required_wins() {
        use GateKind::{Lint, Test};
        use GateStrategy::{Lenient, Strict, TestsOnly};
        for (kind, required, strategy, expected) in [
            (Test, None, Strict, Some(GateNeed::Required)),
            (Test, None, Lenient, Some(GateNeed::Required)),
            (Test, None, TestsOnly, Some(GateNeed::Required)),
            (Lint, None, Strict, Some(GateNeed::Required)),
            (Lint, None, Lenient, Some(GateNeed::Optional)),
            (Lint, None, TestsOnly, None),
            (Lint, Some(true), Lenient, Some(GateNeed::Required)),
            (Lint, Some(true), TestsOnly, Some(GateNeed::Required)),
            (Lint, Some(false), Strict, Some(GateNeed::Optional)),
            (Lint, Some(false), TestsOnly, None),
            (Test, Some(false), Strict, Some(GateNeed::Optional)),
            (Test, Some(false), TestsOnly, Some(GateNeed::Optional)),
        ] {
            assert_eq!(
                needed(kind, required, strategy),
                expected,
                "{kind:?} {required:?} {strategy:?}"
            );
        }
    }

    #[test]
    fn a_gate_of_the_plan_called_lint_is_one_and_gets_the_usual_time() {
        let plan = plan_with(&[("lint", "bun run check", None), ("test", "bun run test", None)]);
        let gates = resolve(&Config::default(), &plan);
        assert_eq!([gates[0].kind, gates[1].kind], [GateKind::Lint, GateKind::Test]);
        assert_eq!(gates[0].timeout.as_secs(), 600);
    }

    #[test]
    fn names_are_made_different_and_empty_commands_are_no_gates() {
        let plan =
            plan_with(&[("a", "x", None), ("a", "y", None), ("", "z", None), ("b", " ", None)]);
        let gates = resolve(&Config::default(), &plan);
        let names: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
        assert_eq!(names, ["a", "a 2", "z"]);
    }
}
