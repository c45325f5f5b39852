//! Gates as real commands: what they write is read, and whatever they do comes to an end.

use std::path::PathBuf;
use std::time::Duration;

use ralph_core::config::{GateKind, GateStrategy, JudgePolicy};
use ralph_core::gate::{
    Baselines, Gate, GateEnding, GateNeed, GateRunResult, KEPT_HEAD, KEPT_TAIL, judge,
};
use ralph_host::clock::Clock;
use ralph_host::gates::{GateError, GateNotice, GatePassSettings, run_gate, write_report};
use ralph_host::proc::CancelToken;
use ralph_host::proc::mark::survivors;

use crate::killed::as_another_process;
use crate::stage::{AGES, Stage, until_there};

fn gate(name: &str, command: &str) -> Gate {
    let (kind, need) = (GateKind::Test, GateNeed::Required);
    Gate { name: name.into(), command: command.into(), kind, need, timeout: AGES }
}

fn logs(stage: &Stage) -> PathBuf {
    stage.place.path().join("logs/validation")
}

fn with<'a>(stage: &'a Stage, logs: &'a std::path::Path) -> GatePassSettings<'a> {
    let grace = Duration::from_millis(300);
    GatePassSettings {
        cwd: stage.place.path(),
        surroundings: &[],
        logs,
        grace,
        cancel: CancelToken::default(),
    }
}

#[track_caller]
fn run(stage: &Stage, gate: &Gate) -> GateRunResult {
    let result = run_gate(&stage.runner, gate, &with(stage, &logs(stage)), &mut |_| {}).unwrap();
    assert_eq!(survivors(stage.runner.run_id()), [], "somebody outlived the gate");
    result
}

#[test]
fn every_gate_runs_also_after_one_that_fails() {
    let stage = Stage::new();
    let gates = [gate("a", "echo one; exit 3"), gate("b", "echo two >&2"), gate("c", "kill -9 $$")];
    let mut heard = Vec::new();
    let logs = logs(&stage);
    let mut hear = |news: GateNotice<'_>| match news {
        GateNotice::Begins(gate) => heard.push(format!("{} begins", gate.name)),
        GateNotice::Line(gate, line) => heard.push(format!("{}: {line}", gate.name)),
        GateNotice::Over(check) => heard.push(format!("{} over", check.name)),
        GateNotice::Runs(..) => {}
    };
    let with = with(&stage, &logs);
    let checks =
        gates.each_ref().map(|gate| run_gate(&stage.runner, gate, &with, &mut hear).unwrap());
    let endings: Vec<&GateEnding> = checks.iter().map(|run| &run.check.ending).collect();
    assert_eq!(endings, [&GateEnding::Code(3), &GateEnding::Code(0), &GateEnding::Signal(9)]);
    assert_eq!(checks[1].output, "two\n");
    assert_eq!(
        heard,
        ["a begins", "a: one", "a over", "b begins", "b: two", "b over", "c begins", "c over"]
    );
}

#[test]
fn a_gate_has_no_input_and_knows_that_it_is_one() {
    let stage = Stage::new();
    let result = run(&stage, &gate("test", "cat; echo $RALPH_GATE; pwd"));
    let place = stage.place.path().canonicalize().unwrap();
    assert_eq!(result.output, format!("1\n{}\n", place.display()));
}

#[test]
fn a_gate_that_hangs_ends_at_its_timeout_with_all_its_children() {
    let stage = Stage::new();
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300') & \
                  echo 'not ok 1 - hangs'; sleep 300; sleep 300";
    let slow = Gate { timeout: Duration::from_millis(400), ..gate("slow", script) };
    let result = run(&stage, &slow);
    assert_eq!(result.check.ending, GateEnding::TimedOut);
    assert!(!result.check.is_green());
    assert_eq!(result.output, "not ok 1 - hangs\n");
}

#[test]
fn a_gate_that_exits_well_when_its_time_is_up_has_still_timed_out() {
    let stage = Stage::new();
    let script = "trap 'exit 0' TERM; while :; do sleep 0.01; done";
    let result = run(&stage, &Gate { timeout: Duration::from_millis(300), ..gate("t", script) });
    assert_eq!(result.check.ending, GateEnding::TimedOut);
}

#[test]
fn a_server_that_a_gate_leaves_behind_is_ended_and_the_gate_is_green() {
    let stage = Stage::new();
    let result = run(&stage, &gate("test", "(setsid sleep 300 &) ; sleep 300 & echo served"));
    assert_eq!((result.check.ending, result.output.as_str()), (GateEnding::Code(0), "served\n"));
}

#[test]
fn huge_output_is_whole_on_disk_bounded_in_the_result_and_read_to_its_middle() {
    let stage = Stage::new();
    let noise = "yes 'nothing of interest stands in this line' | head -n 30000";
    let result =
        run(&stage, &gate("test", &format!("{noise}; echo 'not ok 1 - middle'; {noise}; exit 1")));
    assert!(result.output.len() < KEPT_HEAD + KEPT_TAIL + 100);
    assert!(!result.output.contains("middle"));
    assert!(result.failures.tests.contains("middle"));
    assert!(result.excerpts.around(&[]).contains("not ok 1 - middle\n"));
    let log = std::fs::read_to_string(result.check.log.unwrap()).unwrap();
    assert_eq!(log.lines().count(), 60_001);
}

#[test]
fn endless_gate_output_costs_bounded_memory() {
    let most = as_another_process("gates::measured", &[]);
    let kilobytes: u64 = most.trim().parse().unwrap();
    assert!(kilobytes < 100_000, "ralph's side took {kilobytes} kB at most");
}

#[test]
#[ignore = "started by endless_gate_output_costs_bounded_memory"]
fn measured() {
    let stage = Stage::new();
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo \"not ok $i - test $i\"; done; \
                  echo \"src/a.c:1:1: error: x\"; head -c 100000000 /dev/zero; exit 1";
    let result = run(&stage, &gate("test", script));
    assert!(result.failures.partial.is_some());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    println!("measured: {}", most.trim().trim_end_matches(" kB"));
}

#[test]
fn output_that_is_no_text_is_read_and_kept_on_disk_as_it_is() {
    let stage = Stage::new();
    let result = run(&stage, &gate("odd", "printf 'not ok 1 - \\377\\n'; exit 1"));
    assert!(result.failures.tests.contains("\u{fffd}"));
    assert_eq!(std::fs::read(result.check.log.unwrap()).unwrap(), b"not ok 1 - \xff\n");
}

#[test]
fn a_gate_that_runs_again_gets_another_log() {
    let stage = Stage::new();
    let odd = gate("cargo test --all", "echo $$");
    let (first, again) =
        (run(&stage, &odd).check.log.unwrap(), run(&stage, &odd).check.log.unwrap());
    assert!(first.ends_with("validation-cargo-test---all.log"), "{first}");
    assert!(again.ends_with("validation-cargo-test---all-2.log"), "{again}");
}

#[test]
fn a_cancelled_gate_has_no_result() {
    let stage = Stage::new();
    let logs = logs(&stage);
    let run = with(&stage, &logs);
    let cancel = run.cancel.clone();
    let up = stage.place.path().join("up");
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            until_there(&up);
            cancel.cancel();
        });
        let gate = gate("a", "echo up > up; exec sleep 300");
        run_gate(&stage.runner, &gate, &run, &mut |_| {})
    });
    assert!(matches!(result, Err(GateError::Cancelled)), "{result:?}");
    assert_eq!(survivors(stage.runner.run_id()), []);
}

#[test]
fn a_directory_that_is_gone_is_an_error_that_names_the_gate() {
    let stage = Stage::new();
    let (gone, logs) = (stage.place.path().join("gone"), logs(&stage));
    let run = GatePassSettings { cwd: &gone, ..with(&stage, &logs) };
    let error = run_gate(&stage.runner, &gate("test", "true"), &run, &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("cannot run the gate test: cannot run in "), "{error}");
}

#[test]
fn the_report_of_an_iteration_is_written_where_it_is_expected() {
    let stage = Stage::new();
    let runs = [run(&stage, &gate("test", "exit 1"))];
    let verdict = judge("01J", &runs, &Baselines::new(), Vec::new(), JudgePolicy::List);
    let clock = Clock::stopped_at("2026-01-02T03:04:05Z".parse().unwrap());
    let path =
        write_report(&logs(&stage), 12, &verdict, &runs, GateStrategy::Strict, &clock).unwrap();
    assert_eq!(path, logs(&stage).join("iter-12.json"));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(value["timestamp"], "2026-01-02T03:04:05Z");
    assert_eq!((&value["passed"], &value["checks"][0]["exit_code"]), (&false.into(), &1.into()));
}
