//! Notifications against a receiver on this machine: what it gets, and what ralph says when it does not.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};

use ralph_core::config::{Config, NotifyEvent, NotifyKind, NotifySettings};
use ralph_core::notify::{ProjectEvent, ProjectEventKind};
use ralph_host::notify::Notifier;
use serde_json::Value;

use crate::stage::{AGES, Stage, until_there};

/// A word that must not be seen by anybody.
const SECRET: &str = "T0P-s3cret";

fn done() -> ProjectEvent {
    let what = ProjectEventKind::SpecDone {
        spec: "feature \"x\".md".into(),
        commit: Some("3f2a9c1d5e6f".into()),
        tasks: 2,
        cost: None,
        took_ms: 1000,
    };
    ProjectEvent { project: "shop".into(), at: "2025-01-20T10:00:00Z".into(), what }
}

fn to(kind: NotifyKind) -> NotifySettings {
    let url_env = Some("HOOK".to_owned());
    NotifySettings { kind, on: NotifyEvent::ALL.to_vec(), command: None, url_env }
}

fn notifier(stage: &Stage, receivers: Vec<NotifySettings>, env: &[(&str, OsString)]) -> Notifier {
    let config = Config { notify: receivers, ..Config::default() };
    let env = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone());
    Notifier::with_env(&config, stage.place.path(), &env)
}

/// A server that takes one request a connection and answers with `status`: its address, and for each
/// request the first line and the body.
fn server(status: &'static str) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_ascii_lowercase());
            }
            let length = head.iter().find_map(|l| l.strip_prefix("content-length: ")).unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            write!(stream.get_mut(), "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
            send.send((head.remove(0), serde_json::from_slice(&body).unwrap())).unwrap();
        }
    });
    (address, requests)
}

#[test]
fn every_kind_of_webhook_gets_its_shape() {
    let (address, requests) = server("200 OK");
    for (kind, path, field, expected) in [
        (NotifyKind::Webhook, "/a", "event", "done"),
        (
            NotifyKind::Slack,
            "/a",
            "text",
            "*shop: feature \"x\".md is done*\n2 tasks, 1.0s, cost unknown, commit 3f2a9c1d5e",
        ),
        (
            NotifyKind::Discord,
            "/a",
            "content",
            "**shop: feature \"x\".md is done**\n2 tasks, 1.0s, cost unknown, commit 3f2a9c1d5e",
        ),
        (NotifyKind::Telegram, "/bot/sendMessage?chat_id=7", "chat_id", "7"),
        (NotifyKind::Ntfy, "/nights", "topic", "nights"),
    ] {
        let stage = Stage::new();
        let env = [("HOOK", OsString::from(format!("{address}{path}")))];
        let problems = notifier(&stage, vec![to(kind)], &env).tell(&stage.runner, &done());
        assert_eq!(problems, Vec::<String>::new(), "{kind:?}");
        let (line, body) = requests.recv_timeout(AGES).unwrap();
        assert!(line.starts_with("post /"), "{line}");
        assert_eq!(body[field], expected, "{kind:?}");
    }
}

#[test]
fn a_receiver_that_refuses_is_a_sentence_without_the_secret() {
    let (address, _requests) = server("403 Forbidden");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, words) in [
        (format!("{address}/{SECRET}"), "the receiver answered 403"),
        (format!("http://{closed}/{SECRET}"), "nobody answers at that address"),
        (format!("http://127.0.0.1:{SECRET}/"), "the address makes no sense"),
        (SECRET.to_owned(), "is no http or https address"),
        (String::new(), "is not set"),
    ] {
        let stage = Stage::new();
        let notifier = notifier(&stage, vec![to(NotifyKind::Slack)], &[("HOOK", url.into())]);
        let problems = notifier.tell(&stage.runner, &done());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(words), "{problems:?}");
        assert!(problems[0].contains("slack (address in $HOOK)"), "{problems:?}");
        assert!(!format!("{problems:?}{notifier:?}").contains(SECRET), "{problems:?}");
    }
}

#[test]
fn a_command_gets_variables_and_json_and_its_end_is_all_that_is_told() {
    let stage = Stage::new();
    let command = |text: &str| NotifySettings {
        command: Some(text.into()),
        url_env: None,
        ..to(NotifyKind::Command)
    };
    let writes = command("printf '%s|%s|' \"$RALPH_EVENT\" \"$RALPH_SPEC\" > told; cat >> told");
    let problems = notifier(&stage, vec![writes], &[]).tell(&stage.runner, &done());
    assert_eq!(problems, Vec::<String>::new());
    let told = until_there(&stage.place.path().join("told"));
    let (head, json) = told.split_at(told.find('{').unwrap());
    assert_eq!(head, "done|feature \"x\".md|");
    assert_eq!(serde_json::from_str::<Value>(json).unwrap()["commit"], "3f2a9c1d5e6f");
    let fails = command(&format!("echo {SECRET} >&2; exit 7"));
    let problems = notifier(&stage, vec![fails], &[]).tell(&stage.runner, &done());
    assert!(problems[0].ends_with("it ended with exit code 7"), "{problems:?}");
}

#[test]
fn only_those_who_asked_are_told_and_all_of_them() {
    let (address, requests) = server("204 No Content");
    let stage = Stage::new();
    let deaf = NotifySettings {
        on: vec![NotifyEvent::Failed, NotifyEvent::Limit],
        ..to(NotifyKind::Webhook)
    };
    let receivers = vec![deaf, to(NotifyKind::Webhook), to(NotifyKind::Slack)];
    let env = [("HOOK", OsString::from(address))];
    assert!(notifier(&stage, receivers, &env).tell(&stage.runner, &done()).is_empty());
    let mut shapes: Vec<bool> =
        (0..2).map(|_| requests.recv_timeout(AGES).unwrap().1["event"].is_null()).collect();
    shapes.sort_unstable();
    assert_eq!(shapes, [false, true], "one webhook and Slack");
    assert!(requests.try_recv().is_err(), "nobody else");
}

#[test]
fn the_desktop_is_told_where_there_is_one_and_its_absence_once() {
    let stage = Stage::new();
    let desktop = || vec![NotifySettings { url_env: None, ..to(NotifyKind::Desktop) }];
    let nowhere = notifier(&stage, desktop(), &[("PATH", "/nowhere".into())]);
    let first = nowhere.tell(&stage.runner, &done());
    assert!(first[0].contains("no notify-send or osascript is installed"), "{first:?}");
    assert!(nowhere.tell(&stage.runner, &done()).is_empty(), "it is said once");

    let bin = stage.place.path().join("bin");
    let program = bin.join("notify-send");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\" > told\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let there = notifier(&stage, desktop(), &[("PATH", path)]);
    assert!(there.tell(&stage.runner, &done()).is_empty());
    let told = until_there(&stage.place.path().join("told"));
    assert!(told.contains("--\nshop: feature \"x\".md is done\n2 tasks"), "{told}");
}
