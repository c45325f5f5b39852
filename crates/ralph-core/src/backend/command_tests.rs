use serde_json::json;

use super::*;
use crate::backend::conformance_tests::{read, request};
use crate::backend::{BackendPermissions, MOST_ANSWER, SessionStart, StopCause};

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

fn driver(command: &[&str]) -> CommandDriver {
    CommandDriver::new("mybot", &words(command), CommandClaim::Marker).unwrap()
}

fn refused(command: &[&str]) -> String {
    CommandDriver::new("mybot", &words(command), CommandClaim::Marker).unwrap_err()
}

#[test]
fn a_template_is_filled_from_the_request() {
    let bot = driver(&[
        "mybot",
        "--prompt-file",
        "{prompt_file}",
        "--model={model}",
        "-n",
        "{max_turns}",
        "{session}@{scratch}",
        r#"{"json": {}}"#,
        "",
    ]);
    assert_eq!((bot.name(), bot.program()), ("mybot", "mybot"));
    let run = bot.invocation(&BackendRequest {
        model: Some("big"),
        max_turns: Some(7),
        session: SessionStart::Resume { id: "s-1", before: RunUsage::default() },
        ..request()
    });
    assert_eq!(
        run.args,
        [
            "--prompt-file",
            "/run/scratch/prompt.md",
            "--model=big",
            "-n",
            "7",
            "s-1@/run/scratch",
            r#"{"json": {}}"#,
            "",
        ]
    );
    assert_eq!(run.stdin, "");
    let text = "write a greeting".to_owned();
    assert_eq!(run.files, [ScratchFile { path: "/run/scratch/prompt.md".into(), text }]);
    assert!(bot.supports().resume && bot.supports().max_turns);
}

#[test]
fn what_the_request_does_not_have_is_left_out_with_its_option() {
    let bot = driver(&["mybot", "--model", "{model}", "run", "{session}", "--turns={max_turns}"]);
    let run = bot.invocation(&request());
    assert_eq!(run.args, ["run"]);
    assert_eq!(run.stdin, "write a greeting", "without a prompt file it goes to standard input");
    assert!(run.files.is_empty());
}

#[test]
fn instructions_go_before_the_prompt() {
    let run =
        driver(&["mybot"]).invocation(&BackendRequest { system: Some("be brief"), ..request() });
    assert!(run.stdin.contains("be brief") && run.stdin.ends_with("\n\nwrite a greeting"));
}

#[test]
fn a_template_that_cannot_work_is_refused_with_what_to_write() {
    assert_eq!(
        refused(&["mybot", "{promt_file}"]),
        "unknown placeholder `{promt_file}`: did you mean `{prompt_file}`?"
    );
    assert_eq!(
        refused(&["mybot", "-x={budget}"]),
        "unknown placeholder `{budget}`: known are {prompt_file}, {model}, {max_turns}, {session}, \
         {scratch}"
    );
    assert!(refused(&["mybot", "{prompt}"]).contains("use `{prompt_file}`"));
    assert_eq!(refused(&[]), "`command` is empty: name a program");
    assert_eq!(refused(&["{model}"]), "`command` must begin with a program, not `{model}`");
    assert_eq!(refused(&[""]), "`command` must begin with a program, not ``");
}

fn ended(claim: CommandClaim, stream: &str, exit: BackendExit, stderr: &str) -> BackendOutcome {
    let bot = CommandDriver::new("mybot", &words(&["mybot"]), claim).unwrap();
    read(&bot, &request(), stream.as_bytes()).0.outcome(&exit, stderr)
}

#[test]
fn plain_lines_are_the_answer() {
    let (reader, events) = read(&driver(&["x"]), &request(), b"one\n\xff{two\n{\"type\":\"x\"}");
    assert_eq!(reader.answer(), "one\n\u{fffd}{two\n{\"type\":\"x\"}\n");
    assert!(events.iter().all(|event| matches!(event, BackendEvent::Text(_))));
    assert_eq!(reader.spent(), RunUsage::default());
    assert!(!reader.is_finished());
}

#[test]
fn one_line_of_json_says_the_rest() {
    let stream = concat!(
        "working\n",
        r#"{"type":"result","text":"<TASK_DONE>","structured":{"a":1},"session":"s-2","#,
        r#""cost_usd":0.12,"usage":{"input":1200,"cached":300,"output":60,"turns":3}}"#,
    );
    let (mut reader, events) = read(&driver(&["x"]), &request(), stream.as_bytes());
    assert_eq!(reader.answer(), "<TASK_DONE>");
    assert_eq!(reader.structured(), Some(&json!({ "a": 1 })));
    assert_eq!(reader.session(), Some("s-2"));
    let spent = RunUsage {
        cost: Some(0.12),
        input: Some(1200),
        cached: Some(300),
        output: Some(60),
        turns: Some(3),
    };
    assert_eq!(reader.spent(), spent);
    assert!(reader.is_finished());
    assert_eq!(events.last(), Some(&BackendEvent::Finished));
    assert_eq!(reader.outcome(&BackendExit::code(0), ""), BackendOutcome::Success);
}

#[test]
fn numbers_that_make_no_sense_are_not_taken() {
    let stream = r#"{"type":"result","cost_usd":-1,"usage":{"input":-5,"output":"many"}}"#;
    let (reader, _) = read(&driver(&["x"]), &request(), stream.as_bytes());
    assert_eq!(reader.spent(), RunUsage::default());
}

#[test]
fn the_exit_code_is_the_end_and_the_claim_decides_what_silence_means() {
    let ok = BackendExit::code(0);
    assert_eq!(ended(CommandClaim::Marker, "did it", ok, ""), BackendOutcome::Success);
    assert_eq!(ended(CommandClaim::Exit, "did it", ok, ""), BackendOutcome::Success);
    assert_eq!(ended(CommandClaim::Exit, "", ok, ""), BackendOutcome::Success);
    assert_eq!(ended(CommandClaim::Marker, "\n", ok, ""), BackendOutcome::NoOutput);
    let killed = BackendExit { ending: ProcessEnding::Signal(9), stopped: None };
    assert_eq!(ended(CommandClaim::Exit, "did it", killed, "").word(), "crash");
    let late = BackendExit { ending: ProcessEnding::Code(0), stopped: Some(StopCause::Timeout) };
    assert_eq!(ended(CommandClaim::Exit, "did it", late, ""), BackendOutcome::Timeout);
    let missing = BackendExit { ending: ProcessEnding::NotFound, stopped: None };
    assert_eq!(ended(CommandClaim::Exit, "", missing, ""), BackendOutcome::NotInstalled);
}

#[test]
fn a_failure_is_judged_by_its_last_words() {
    let failed = BackendExit::code(3);
    let crash = |message: &str| BackendOutcome::Crash {
        ending: ProcessEnding::Code(3),
        message: message.to_owned(),
    };
    assert_eq!(ended(CommandClaim::Exit, "hm", failed, "boom\n\n"), crash("boom"));
    assert_eq!(ended(CommandClaim::Exit, "hm\noops\n", failed, ""), crash("oops"));
    assert_eq!(ended(CommandClaim::Exit, "", failed, ""), crash("it gave no reason"));
    assert_eq!(ended(CommandClaim::Exit, "", failed, "rate limit reached").word(), "rate_limit");
    assert_eq!(ended(CommandClaim::Exit, "HTTP 401\n", failed, "").word(), "not_logged_in");
    let error = r#"{"type":"result","error":"the context window is full"}"#;
    let said = "context window exceeded";
    assert_eq!(
        ended(
            CommandClaim::Exit,
            &error.replace("the context window is full", said),
            BackendExit::code(0),
            ""
        ),
        BackendOutcome::ContextLimit
    );
}

#[test]
fn an_answer_without_end_keeps_its_end() {
    let bot = driver(&["x"]);
    let mut reader =
        bot.reader(&BackendRequest { permissions: BackendPermissions::Default, ..request() });
    let (line, mut events) = ("ä".repeat(4000), Vec::new());
    for _ in 0..1000 {
        events.clear();
        reader.line(line.as_bytes(), &mut events);
    }
    reader.line(b"<TASK_DONE>", &mut events);
    assert!(reader.answer().len() <= MOST_ANSWER);
    assert!(reader.answer().ends_with("ä\n<TASK_DONE>\n"));
}
