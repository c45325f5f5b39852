//! What the agents of construct answer: no reader panics, every problem has a question that says why,
//! and whatever is read can be written into a plan that reads again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::answer::{BackendAnswer, UnusableAnswer};
use ralph_core::construct::answer;
use ralph_core::construct::apply::{
    AppliedChange, EditContext, ExistingTasks, PlanTarget, Verification, decomposed, investigated,
    planned, verified,
};
use ralph_core::construct::prompts::sample;
use ralph_core::format::{EditError, PlanFormat, codec};
use ralph_core::plan::{Id, Plan};

const PLAN: &str = r#"{"t":"spec","spec":"s.md"}
{"t":"task","id":"t-1a2b","name":"Write the parser","s":"d"}
{"t":"task","id":"t-1a2c","name":"Write the printer","s":"p","deps":["t-1a2b"],"kill_reason":"timeout"}
{"t":"issue","id":"i-1a2b","desc":"a flaky test","created_from":"t-1a2c"}
{"t":"issue","id":"i-1a2c","desc":"a slow test","kill_reason":"timeout"}
"#;

fn write(with: impl FnOnce(EditContext<'_>) -> Result<AppliedChange, EditError>) {
    let mut n = 0;
    let mut random = || {
        n += 1;
        format!("{n:04}")
    };
    let pen = EditContext { at: "2026-01-02T03:04:05Z", random: &mut random };
    let applied = with(pen).expect("an answer that was read can be written");
    assert!(read(&applied.text).tasks.len() <= 200);
}

fn read(text: &str) -> Plan {
    codec(PlanFormat::Jsonl).parse(text).expect("it reads again")
}

fn told<T>(answer: Result<T, UnusableAnswer>) -> Option<T> {
    if let Err(problem) = &answer {
        assert!(problem.question.contains(&problem.why.to_string()));
    }
    answer.ok()
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert!(sample(text).lines().count() <= 151);
    let structured = serde_json::from_str(text).ok();
    let said = &BackendAnswer { structured, text: text.to_owned() };
    let plan = read(PLAN);
    if let Some(answer) = told(answer::plan(said, &plan)) {
        let (spec, format) = (Some("s.md"), PlanFormat::Jsonl);
        for existing in [ExistingTasks::Merge, ExistingTasks::Replace] {
            let target = PlanTarget { format, spec, existing, title: "fuzz", file: None };
            write(|pen| planned(PLAN, &target, &answer, pen));
        }
    }
    if let Some(answer) = told(answer::investigation(said, &plan, &plan.issues[0])) {
        write(|pen| investigated(PLAN, &[(plan.issues[0].id.clone(), answer)], pen));
    }
    let verdicts: Vec<_> = told(answer::task_verdict(said, &plan.tasks[0])).into_iter().collect();
    let whole = told(answer::spec_verdict(said));
    let verification = Verification {
        spec: "s.md",
        verdicts: &verdicts,
        unverified: &[],
        whole: whole.as_ref(),
        max_retries: 2,
    };
    write(|pen| verified(PLAN, &verification, pen));
    if let Some(parts) = told(answer::task_parts(said, &plan, &plan.tasks[1])) {
        write(|pen| decomposed(PLAN, &Id::from("t-1a2c"), &parts, pen));
    }
    if let Some(parts) = told(answer::issue_parts(said, &plan)) {
        write(|pen| decomposed(PLAN, &Id::from("i-1a2c"), &parts, pen));
    }
});
