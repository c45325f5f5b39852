use serde_json::json;

use super::*;
use crate::backend::conformance_tests::{read, request};
use crate::backend::{MOST_ANSWER, Permissions, Session, Stop};

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

fn driver(command: &[&str]) -> CommandDriver {
    CommandDriver::new("mybot", &words(command), Claim::Marker).unwrap()
}

fn refused(command: &[&str]) -> String {
    CommandDriver::new("mybot", &words(command), Claim::Marker).unwrap_err()
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
    let run = bot.invocation(&Request {
        model: Some("big"),
        max_turns: Some(7),
        session: Session::Resume { id: "s-1", before: Spent::default() },
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
    let run = driver(&["mybot"]).invocation(&Request { system: Some("be brief"), ..request() });
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

fn ended(claim: Claim, stream: &str, exit: Exit, stderr: &str) -> Outcome {
    let bot = CommandDriver::new("mybot", &words(&["mybot"]), claim).unwrap();
    read(&bot, &request(), stream.as_bytes()).0.outcome(&exit, stderr)
}

#[test]
fn plain_lines_are_the_answer() {
    let (reader, events) = read(&driver(&["x"]), &request(), b"one\n\xff{two\n{\"type\":\"x\"}");
    assert_eq!(reader.answer(), "one\n\u{fffd}{two\n{\"type\":\"x\"}\n");
    assert!(events.iter().all(|event| matches!(event, Event::Text(_))));
    assert_eq!(reader.spent(), Spent::default());
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
    let spent = Spent {
        cost: Some(0.12),
        input: Some(1200),
        cached: Some(300),
        output: Some(60),
        turns: Some(3),
    };
    assert_eq!(reader.spent(), spent);
    assert!(reader.is_finished());
    assert_eq!(events.last(), Some(&Event::Finished));
    assert_eq!(reader.outcome(&Exit::code(0), ""), Outcome::Success);
}

#[test]
fn numbers_that_make_no_sense_are_not_taken() {
    let stream = r#"{"type":"result","cost_usd":-1,"usage":{"input":-5,"output":"many"}}"#;
    let (reader, _) = read(&driver(&["x"]), &request(), stream.as_bytes());
    assert_eq!(reader.spent(), Spent::default());
}

#[test]
fn the_exit_code_is_the_end_and_the_claim_decides_what_silence_means() {
    let ok = Exit::code(0);
    assert_eq!(ended(Claim::Marker, "did it", ok, ""), Outcome::Success);
    assert_eq!(ended(Claim::Exit, "did it", ok, ""), Outcome::Success);
    assert_eq!(ended(Claim::Exit, "", ok, ""), Outcome::Success);
    assert_eq!(ended(Claim::Marker, "\n", ok, ""), Outcome::NoOutput);
    let killed = Exit { ending: Ending::Signal(9), stopped: None };
    assert_eq!(ended(Claim::Exit, "did it", killed, "").word(), "crash");
    let late = Exit { ending: Ending::Code(0), stopped: Some(Stop::Timeout) };
    assert_eq!(ended(Claim::Exit, "did it", late, ""), Outcome::Timeout);
    let missing = Exit { ending: Ending::NotFound, stopped: None };
    assert_eq!(ended(Claim::Exit, "", missing, ""), Outcome::NotInstalled);
}

#[test]
fn a_failure_is_judged_by_its_last_words() {
    let failed = Exit::code(3);
    let crash =
        |message: &str| Outcome::Crash { ending: Ending::Code(3), message: message.to_owned() };
    assert_eq!(ended(Claim::Exit, "hm", failed, "boom\n\n"), crash("boom"));
    assert_eq!(ended(Claim::Exit, "hm\noops\n", failed, ""), crash("oops"));
    assert_eq!(ended(Claim::Exit, "", failed, ""), crash("it gave no reason"));
    assert_eq!(ended(Claim::Exit, "", failed, "rate limit reached").word(), "rate_limit");
    assert_eq!(ended(Claim::Exit, "HTTP 401\n", failed, "").word(), "not_logged_in");
    let error = r#"{"type":"result","error":"the context window is full"}"#;
    let said = "context window exceeded";
    assert_eq!(
        ended(Claim::Exit, &error.replace("the context window is full", said), Exit::code(0), ""),
        Outcome::ContextLimit
    );
}

#[test]
fn an_answer_without_end_keeps_its_end() {
    let bot = driver(&["x"]);
    let mut reader = bot.reader(&Request { permissions: Permissions::Default, ..request() });
    let (line, mut events) = ("ä".repeat(4000), Vec::new());
    for _ in 0..1000 {
        events.clear();
        reader.line(line.as_bytes(), &mut events);
    }
    reader.line(b"<TASK_DONE>", &mut events);
    assert!(reader.answer().len() <= MOST_ANSWER);
    assert!(reader.answer().ends_with("ä\n<TASK_DONE>\n"));
}
