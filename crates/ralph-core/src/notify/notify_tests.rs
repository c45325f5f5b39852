//! Every receiver gets what it takes, and nobody sees an address.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config::{NotifyEvent, NotifyKind};

fn done() -> ProjectEvent {
    let what = ProjectEventKind::SpecDone {
        spec: "feature-x.md".into(),
        commit: Some("3f2a9c1d5e6f708192a3".into()),
        tasks: 8,
        cost: Some(0.82),
        took_ms: 932_000,
    };
    ProjectEvent { project: "shop".into(), at: "2025-01-20T10:15:33Z".into(), what }
}

fn failed(why: &str) -> ProjectEvent {
    let kept = Some("ralph: failed feature-x".into());
    ProjectEvent {
        what: ProjectEventKind::SpecFailed { spec: "x.md".into(), why: why.into(), kept },
        ..done()
    }
}

fn post(kind: NotifyKind, happening: &ProjectEvent, address: &str) -> (String, Value) {
    match NotificationMessage::of(kind, happening, Some(address)).unwrap() {
        NotificationMessage::Post(post) => (post.url, serde_json::from_str(&post.body).unwrap()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_happening_has_its_word_a_title_and_a_text() {
    let spec = Some("x.md".to_owned());
    let why = "which key signs the release?".to_owned();
    let stopped = ProjectEventKind::Stopped {
        why: "inbox empty".into(),
        needs: Vec::new(),
        done: 3,
        failed: 1,
        cost: None,
        took_ms: 4_980_000,
    };
    for (what, word, title, text) in [
        (
            done().what,
            NotifyEvent::Done,
            "shop: feature-x.md is done",
            "8 tasks, 15m 32s, $0.82, commit 3f2a9c1d5e",
        ),
        (
            failed("no progress").what,
            NotifyEvent::Failed,
            "shop: x.md failed",
            "no progress\nIts work is kept: ralph: failed feature-x",
        ),
        (
            ProjectEventKind::NeedsPerson { spec: spec.clone(), why: why.clone() },
            NotifyEvent::Blocked,
            "shop: a person is needed: x.md",
            "which key signs the release?",
        ),
        (
            ProjectEventKind::LimitReached { spec: None, why: "$10.00 are spent".into() },
            NotifyEvent::Limit,
            "shop: a limit was reached",
            "$10.00 are spent",
        ),
        (
            stopped,
            NotifyEvent::Stopped,
            "shop: the agent stopped",
            "inbox empty\n3 done, 1 failed, cost unknown, 1h 23m",
        ),
    ] {
        let happening = ProjectEvent { what, ..done() };
        assert_eq!(happening.on(), word);
        assert_eq!((happening.title().as_str(), happening.text().as_str()), (title, text));
    }
}

#[test]
fn a_command_gets_variables_and_json() {
    let NotificationMessage::Command { env, stdin } =
        NotificationMessage::of(NotifyKind::Command, &done(), None).unwrap()
    else {
        panic!("another shape")
    };
    let get = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str());
    assert_eq!(get("RALPH_EVENT"), Some("done"));
    assert_eq!(get("RALPH_SPEC"), Some("feature-x.md"));
    assert_eq!(get("RALPH_MESSAGE"), Some("8 tasks, 15m 32s, $0.82, commit 3f2a9c1d5e"));
    let json: Value = serde_json::from_str(&stdin).unwrap();
    assert_eq!((&json["event"], &json["cost_usd"]), (&json!("done"), &json!(0.82)));
    assert_eq!(json["commit"], "3f2a9c1d5e6f708192a3");
}

#[test]
fn slack_and_discord_call_nobody_by_what_an_agent_wrote() {
    let bad = failed("<!channel> & @everyone");
    let (url, body) = post(NotifyKind::Slack, &bad, "https://hooks.example/T/B/secret");
    assert_eq!(url, "https://hooks.example/T/B/secret");
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("*shop: x.md failed*\n&lt;!channel&gt; &amp; @everyone"), "{text}");
    let (_, body) = post(NotifyKind::Discord, &bad, "https://discord.example/secret");
    assert_eq!(body["allowed_mentions"], json!({ "parse": [] }));
    let (_, long) = post(NotifyKind::Discord, &failed(&"é".repeat(9000)), "https://d.example/s");
    assert!(long["content"].as_str().unwrap().chars().count() < 2000);
}

#[test]
fn telegram_needs_a_chat_and_ntfy_a_topic() {
    let bot = "https://api.example/bot1:secret/sendMessage";
    let (url, body) = post(NotifyKind::Telegram, &done(), &format!("{bot}?chat_id=%40team"));
    assert_eq!((url.as_str(), &body["chat_id"]), (bot, &json!("@team")));
    assert!(body["text"].as_str().unwrap().contains("feature-x.md is done\n8 tasks"));
    let (url, body) = post(NotifyKind::Ntfy, &done(), "http://127.0.0.1:80/nights/?auth=secret");
    assert_eq!(
        (url.as_str(), &body["topic"]),
        ("http://127.0.0.1:80/?auth=secret", &json!("nights"))
    );
    for (kind, address) in [(NotifyKind::Telegram, bot), (NotifyKind::Ntfy, "https://ntfy.example")]
    {
        let error = NotificationMessage::of(kind, &done(), Some(address)).unwrap_err();
        assert!(error.starts_with("the address for ") && !error.contains("secret"), "{error}");
    }
}

#[test]
fn an_address_is_never_shown() {
    let secret = "https://hooks.example/T/B/secret";
    let message = NotificationMessage::of(NotifyKind::Webhook, &done(), Some(secret)).unwrap();
    assert!(!format!("{message:?}").contains("secret"));
    for bad in ["", "secret", "file:///secret", "https://a.example/sec\nret", "ftp://secret"] {
        let error = NotificationMessage::of(NotifyKind::Slack, &done(), Some(bad)).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(
        NotificationMessage::of(NotifyKind::Slack, &done(), None).unwrap_err().contains("not set")
    );
}

proptest! {
    #[test]
    fn no_text_breaks_a_message(why in any::<String>(), spec in any::<String>()) {
        let what = ProjectEventKind::SpecFailed { spec, why, kept: None };
        let happening = ProjectEvent { what, ..done() };
        prop_assert_eq!(happening.title().lines().count(), 1);
        for kind in NotifyKind::ALL {
            let address = "https://a.example/topic?chat_id=1";
            match NotificationMessage::of(kind, &happening, Some(address)) {
                Ok(NotificationMessage::Post(post)) => prop_assert!(!post.body.contains('\n')),
                Ok(NotificationMessage::Command { env, .. }) => {
                    prop_assert!(env.iter().all(|(_, value)| !value.contains('\0')));
                }
                Ok(NotificationMessage::Desktop { .. }) => {}
                Err(e) => prop_assert!(false, "{e}"),
            }
        }
    }
}
