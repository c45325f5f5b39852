//! The queue rules of the inbox, and the bytes they change.

use proptest::prelude::*;

use super::*;

const NOW: &str = "2025-01-20T12:00:00Z";

/// As in the documentation, with a record and a field that ralph does not know.
const INBOX: &str = concat!(
    r#"{"t": "inbox", "id": "q-a1b2", "spec": "feature-x.md", "added_at": "2025-01-20T10:30:00Z", "status": "pending"}"#,
    "\n",
    r#"{"t": "note", "id": "q-a1b2"}"#,
    "\n",
    r#"{"t": "inbox", "id": "q-e5f6", "spec": "refactor-z.md", "added_at": "2025-01-20T09:00:00Z", "status": "active", "started_at": "2025-01-20T11:50:00Z", "who": ["me", 1.50]}"#,
    "\n\n",
    r#"{"t": "inbox", "id": "q-c3d4", "spec": "bugfix-y.md", "added_at": "2025-01-20T11:00:00Z", "status": "pending"}"#,
    "\n",
    r#"{"t": "inbox", "id": "q-0000", "spec": "bugfix-y.md", "added_at": "2025-01-19T11:00:00Z", "status": "failed", "completed_at": "2025-01-19T12:00:00Z", "error": "no"}"#,
    "\n",
);

fn inbox() -> Inbox<'static> {
    Inbox::parse(INBOX).unwrap()
}

fn complaint(text: &str) -> (usize, String) {
    let error = Inbox::parse(text).unwrap_err();
    (error.line, error.message)
}

fn line(members: &str) -> String {
    format!(r#"{{"t":"inbox","id":"q-a1b2","spec":"x.md","added_at":"{NOW}"{members}}}"#)
}

#[test]
fn records_are_read_in_queue_order() {
    let ids: Vec<_> = inbox().entries.iter().map(|e| (e.id.clone(), e.line)).collect();
    let expected = [("q-a1b2", 1), ("q-e5f6", 3), ("q-c3d4", 5), ("q-0000", 6)];
    assert_eq!(ids, expected.map(|(id, line)| (id.to_owned(), line)));
    let failed = inbox().find("q-0000").cloned().unwrap();
    assert_eq!(failed.status, InboxStatus::Failed);
    assert_eq!(failed.error.as_deref(), Some("no"));
    assert_eq!(failed.completed_at.as_deref(), Some("2025-01-19T12:00:00Z"));
    assert_eq!(inbox().entries[1].started_at.as_deref(), Some("2025-01-20T11:50:00Z"));
}

#[test]
fn the_first_pending_record_is_next() {
    assert_eq!(inbox().first_pending().unwrap().id, "q-a1b2");
    assert!(Inbox::parse("").unwrap().first_pending().is_none());
}

#[test]
fn a_spec_is_queued_while_it_waits_or_is_worked_on() {
    assert_eq!(inbox().queued("feature-x.md").unwrap().id, "q-a1b2");
    assert_eq!(inbox().queued("refactor-z.md").unwrap().id, "q-e5f6");
    assert_eq!(inbox().queued("bugfix-y.md").unwrap().id, "q-c3d4");
    let text = INBOX.replace("\"pending\"", "\"done\"");
    assert!(Inbox::parse(&text).unwrap().queued("feature-x.md").is_none());
}

#[test]
fn adding_appends_one_compact_record() {
    let new = format!(
        "{{\"t\":\"inbox\",\"id\":\"q-9z9z\",\"spec\":\"new.md\",\"added_at\":\"{NOW}\",\"status\":\"pending\"}}"
    );
    assert_eq!(inbox().add("q-9z9z", "new.md", NOW), format!("{INBOX}{new}\n"));
    let open = INBOX.trim_end().replace('\n', "\r\n");
    let out = Inbox::parse(&open).unwrap().add("q-9z9z", "new.md", NOW);
    assert_eq!(out, format!("{open}\r\n{new}\r\n"));
    assert_eq!(Inbox::parse("").unwrap().add("q-9z9z", "new.md", NOW), format!("{new}\n"));
}

#[test]
fn removing_takes_exactly_one_line() {
    let first = INBOX.split_inclusive('\n').next().unwrap();
    assert_eq!(inbox().remove("q-a1b2").unwrap(), INBOX.replacen(first, "", 1));
    assert_eq!(inbox().remove("q-zzzz"), Err(InboxError::Unknown("q-zzzz".into())));
}

#[test]
fn an_active_spec_cannot_be_removed() {
    let refused = inbox().remove("q-e5f6").unwrap_err();
    assert_eq!(refused.to_string(), "refactor-z.md (q-e5f6) is active: stop the agent first");
    for word in ["q-e5f6", "refactor-z.md"] {
        assert_eq!(inbox().removable(word).unwrap_err(), refused);
    }
}

#[test]
fn a_spec_name_means_its_first_record_that_is_not_active() {
    assert_eq!(inbox().removable("bugfix-y.md").unwrap().id, "q-c3d4");
    let text = INBOX.replace("feature-x.md", "refactor-z.md");
    let swapped: String = {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.swap(0, 2);
        lines.concat()
    };
    assert_eq!(Inbox::parse(&swapped).unwrap().removable("refactor-z.md").unwrap().id, "q-a1b2");
    assert_eq!(inbox().removable("q-0000").unwrap().id, "q-0000");
    let unknown = inbox().removable("nothing.md").unwrap_err();
    assert_eq!(unknown.to_string(), "the inbox has no nothing.md");
}

#[test]
fn clearing_takes_only_what_is_pending() {
    let (text, cleared) = inbox().clear();
    assert_eq!(cleared, 2);
    let rest: Vec<&str> =
        INBOX.split_inclusive('\n').filter(|l| !l.contains("\"pending\"")).collect();
    assert_eq!(text, rest.concat());
    assert_eq!(Inbox::parse(&text).unwrap().clear(), (text.clone(), 0));
}

#[test]
fn a_status_change_sets_and_clears_what_belongs_to_it() {
    let step = |text: &str, change: InboxChange| {
        Inbox::parse(text).unwrap().set_status("q-a1b2", &change).unwrap()
    };
    let start = line(r#","status":"pending","x":1"#);
    let at = |t: &str| t.to_owned();
    let active = step(&start, InboxChange::Active { at: at("T1") });
    assert_eq!(active, line(r#","status":"active","x":1,"started_at":"T1""#));
    let done = step(&active, InboxChange::Done { at: at("T2") });
    assert_eq!(done, line(r#","status":"done","x":1,"started_at":"T1","completed_at":"T2""#));
    let failed = step(&active, InboxChange::Failed { at: at("T3"), error: "no plan".into() });
    assert_eq!(
        failed,
        line(r#","status":"failed","x":1,"started_at":"T1","completed_at":"T3","error":"no plan""#)
    );
    assert_eq!(step(&failed, InboxChange::Pending), start);
    assert_eq!(step(&failed, InboxChange::Active { at: at("T1") }), active);
    assert_eq!(step(&failed, InboxChange::Done { at: at("T2") }), done);
    assert!(inbox().set_status("q-zzzz", &InboxChange::Pending).is_err());
}

#[test]
fn an_entry_is_printed_with_the_fields_that_it_has() {
    let all = serde_json::to_value(inbox().entries()).unwrap();
    assert_eq!(
        all[1].to_string(),
        r#"{"id":"q-e5f6","spec":"refactor-z.md","status":"active","added_at":"2025-01-20T09:00:00Z","started_at":"2025-01-20T11:50:00Z"}"#
    );
    assert_eq!(all.as_array().unwrap().len(), 4);
    assert_eq!(inbox().count(InboxStatus::Pending), 2);
}

#[test]
fn fresh_ids_are_free_and_fit_the_pattern() {
    let mut words = ["a1b2", "zz11"].into_iter().map(str::to_owned);
    let id = inbox().fresh_id(&mut || words.next().unwrap()).unwrap();
    assert_eq!(id, "q-zz11");
    assert!(Inbox::parse(&inbox().add(&id, "n.md", NOW)).is_ok());
}

#[test]
fn damage_is_an_error_with_its_line() {
    let damaged = INBOX.replacen("\"spec\": \"bugfix-y.md\"", "\"spec\": 7", 1);
    assert_eq!(complaint(&damaged), (5, "`spec` must be a string, not 7".into()));
    for (text, message) in [
        (line(""), "`status` is missing"),
        (
            line(r#","status":"paused""#),
            "`status` must be pending, active, done or failed, not \"paused\"",
        ),
        (r#"{"t":"inbox"}"#.to_owned(), "`id` is missing"),
        (
            line(r#","status":"done""#).replace("q-a1b2", "q-A1b2"),
            "`id` must be `q-` and four of a-z and 0-9, not \"q-A1b2\"",
        ),
        (
            line(r#","status":"done""#).replace("q-a1b2", "q-a1b"),
            "`id` must be `q-` and four of a-z and 0-9, not \"q-a1b\"",
        ),
        ("nonsense".to_owned(), "expected a value"),
    ] {
        assert_eq!(complaint(&text), (1, message.to_owned()));
    }
}

#[test]
fn an_id_that_stands_twice_is_an_error_naming_both_lines() {
    let twice = INBOX.replace("q-0000", "q-a1b2");
    assert_eq!(complaint(&twice), (6, "the id q-a1b2 stands on line 1 too".into()));
}

fn inboxes() -> impl Strategy<Value = String> {
    let status = prop::sample::select(InboxStatus::ALL.to_vec());
    let entry = prop::option::weighted(0.8, (status, "[a-c]\\.md", any::<bool>()));
    (prop::collection::vec(entry, 0..12), prop::sample::select(vec!["\n", "\r\n"]), any::<bool>())
        .prop_map(|(entries, newline, closed)| {
            let lines: Vec<String> = entries
                .into_iter()
                .enumerate()
                .map(|(n, entry)| match entry {
                    None => r#"{"t":"other"}"#.to_owned(),
                    Some((status, spec, spaced)) => {
                        let space = if spaced { " " } else { "" };
                        let status = status.as_str();
                        format!("{{\"t\":{space}\"inbox\",\"id\":\"q-{n:04}\",\"x\":[1,  2],\"spec\":\"{spec}\",\"added_at\":\"\",\"status\":\"{status}\"}}")
                    }
                })
                .collect();
            lines.join(newline) + if closed { newline } else { "" }
        })
}

proptest! {
    #[test]
    fn changes_touch_only_their_own_lines(text in inboxes(), pick in any::<prop::sample::Index>()) {
        let inbox = Inbox::parse(&text).unwrap();
        let old: Vec<&str> = text.lines().collect();
        let added = inbox.add("q-zzzz", "n.md", NOW);
        prop_assert!(added.starts_with(&text));
        prop_assert_eq!(Inbox::parse(&added).unwrap().entries.len(), inbox.entries.len() + 1);

        let (cleared, n) = inbox.clear();
        let kept: Vec<&str> = old.iter().copied().filter(|l| !l.contains("\"pending\"")).collect();
        prop_assert_eq!(cleared.lines().collect::<Vec<_>>(), kept);
        prop_assert_eq!(n, inbox.count(InboxStatus::Pending));

        if let Some(entry) = (!inbox.entries.is_empty()).then(|| pick.get(&inbox.entries)) {
            let change = InboxChange::Failed { at: NOW.into(), error: "é\n".into() };
            let out = inbox.set_status(&entry.id, &change).unwrap();
            let new = Inbox::parse(&out).unwrap();
            prop_assert_eq!(new.find(&entry.id).unwrap().error.as_deref(), Some("é\n"));
            for (n, (a, b)) in old.iter().zip(out.lines()).enumerate() {
                prop_assert!(n + 1 == entry.line || *a == b);
            }
            let line = out.lines().nth(entry.line - 1).unwrap();
            prop_assert!(line.contains("\"x\":[1,  2]"));
        }
    }
}
