//! What every driver asks of its program.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// Everything that goes to standard input, in a run that goes like the `edit` stream.
fn written(kind: BackendKind, driver: &dyn BackendDriver, request: &BackendRequest<'_>) -> String {
    let mut out = driver.invocation(request).stdin.into_bytes();
    let mut reader = driver.reader(request);
    out.extend(reader.outgoing());
    for line in edit(kind).lines() {
        reader.line(line.as_bytes(), &mut Vec::new());
        out.extend(reader.outgoing());
    }
    String::from_utf8(out).expect("only text is written")
}

/// The words that the program gets to read, out of the protocol around them.
fn words(kind: BackendKind, driver: &dyn BackendDriver, request: &BackendRequest<'_>) -> String {
    let written = written(kind, driver, request);
    if kind != BackendKind::Acp {
        return written;
    }
    let messages = written.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let text = |message: serde_json::Value| {
        Some(message.pointer("/params/prompt/0/text")?.as_str()?.to_owned())
    };
    messages.filter_map(text).collect()
}

#[test]
fn a_prompt_is_never_a_command_of_the_program() {
    for (kind, driver) in drivers() {
        for prompt in ["/compact and go", " \n/clear", "/etc/hosts has a typo"] {
            let words = words(kind, driver, &BackendRequest { prompt, ..request() });
            assert!(!words.trim_start().starts_with('/'), "{}: {words}", driver.name());
            assert!(words.ends_with(prompt), "{}: {words}", driver.name());
        }
        let prompt = "fix /etc/hosts";
        assert_eq!(words(kind, driver, &BackendRequest { prompt, ..request() }), prompt);
    }
}

#[test]
fn a_compaction_is_the_programs_own_command_on_the_same_session() {
    for (kind, driver) in drivers().filter(|(_, driver)| driver.supports().compaction) {
        let session = SessionStart::Compact { id: "sess-1", before: RunUsage::default() };
        let name = driver.name();
        for (prompt, command) in [("keep the plan", "/compact keep the plan"), ("", "/compact")] {
            let asked = BackendRequest { prompt, session: session.clone(), ..request() };
            assert_eq!(words(kind, driver, &asked), command, "{name}");
            let run = driver.invocation(&asked);
            let all = format!("{} {}", run.args.join(" "), written(kind, driver, &asked));
            assert!(all.contains("sess-1"), "{name}: {all}");
        }
    }
}

#[test]
fn no_prompt_and_no_secret_is_an_argument() {
    let mcp = json!({ "mcpServers": {
        "a": { "command": "a", "env": { "KEY": "s3cret" } },
        "b": { "url": "https://b.example", "headers": { "Authorization": "Bearer s3cret" } },
    } });
    let prompt = "p".repeat(300_000);
    let system = "q".repeat(300_000);
    for (kind, driver) in drivers() {
        let request =
            BackendRequest { prompt: &prompt, system: Some(&system), mcp: Some(&mcp), ..request() };
        let run = driver.invocation(&request);
        assert!(words(kind, driver, &request).ends_with(&prompt), "{}", driver.name());
        for arg in run.args.iter().chain(run.env.iter().map(|(_, value)| value)) {
            assert!(arg.len() < 128 * 1024, "{}", driver.name());
        }
        assert!(!run.args.join(" ").contains("s3cret"), "{}", driver.name());
        let files: BTreeSet<&str> = run.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files.len(), run.files.len(), "{}: two files of one name", driver.name());
        assert!(files.iter().all(|path| path.starts_with("/run/scratch/")), "{}", driver.name());
    }
}

#[test]
fn what_is_supported_is_asked_for() {
    for (kind, driver) in drivers() {
        let schema = json!({ "type": "object", "properties": {} });
        let mcp = json!({ "mcpServers": { "lab": { "command": "lab-mcp" } } });
        let asked = |request: &BackendRequest<'_>| {
            (driver.invocation(request), written(kind, driver, request))
        };
        let plain = asked(&request());
        let supports = driver.supports();
        let before = RunUsage::default();
        let requests = [
            (
                supports.resume,
                BackendRequest { session: SessionStart::Resume { id: "s-1", before }, ..request() },
            ),
            (supports.schema, BackendRequest { schema: Some(&schema), ..request() }),
            (supports.mcp, BackendRequest { mcp: Some(&mcp), ..request() }),
            (supports.max_turns, BackendRequest { max_turns: Some(3), ..request() }),
            (supports.budget, BackendRequest { budget: Some(1.5), ..request() }),
            (true, BackendRequest { model: Some("some/model"), ..request() }),
            (true, BackendRequest { system: Some("be brief"), ..request() }),
            // A program that only a template describes cannot be told.
            (
                kind != BackendKind::Command,
                BackendRequest { permissions: BackendPermissions::ReadOnly, ..request() },
            ),
        ];
        for (supported, request) in requests {
            assert_eq!(asked(&request) != plain, supported, "{}: {request:?}", driver.name());
        }
    }
}

#[test]
fn instructions_are_beside_the_prompt_where_that_is_supported_and_else_in_it() {
    for (kind, driver) in drivers() {
        let asked = BackendRequest { system: Some("be brief"), ..request() };
        let beside = !words(kind, driver, &asked).contains("be brief");
        assert_eq!(beside, driver.supports().system, "{}", driver.name());
    }
}
