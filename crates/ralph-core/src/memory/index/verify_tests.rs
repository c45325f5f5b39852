use super::*;

const MARKDOWN: &str = "# Knowledge Index
Last updated: iteration 7 (2026-01-17)

## Constraints
- [K-constraint-push] Must never force push [source: iter 3]
- [K-constraint-soft] Input is UTF-8
- whoever writes tests MUST run them

## Gotchas
- [K-gotcha-bom] A byte order mark may come first
";

const JSON: &str = r#"[
  {"iteration": 3, "task": "t-1", "summary": "push", "tags": ["git"], "memory_id": "K-constraint-push"},
  {"iteration": 7, "task": "t-2", "summary": "bom", "tags": [], "memory_id": "K-gotcha-bom"}
]"#;

fn before() -> IndexFiles<'static> {
    IndexFiles { markdown: Some(MARKDOWN), json: Some(JSON) }
}

/// What is wrong with these files, a line each with the check in front.
fn wrong(markdown: Option<&str>, json: Option<&str>) -> Vec<(IndexCheck, String)> {
    let found = verify(before(), IndexFiles { markdown, json });
    found.err().unwrap_or_default().into_iter().map(|v| (v.check, v.to_string())).collect()
}

#[track_caller]
fn fine(markdown: &str, json: &str) {
    assert_eq!(wrong(Some(markdown), Some(json)), []);
}

#[track_caller]
fn refused(markdown: &str, json: &str, check: IndexCheck, part: &str) {
    let found = wrong(Some(markdown), Some(json));
    let said = found.iter().any(|(c, message)| *c == check && message.contains(part));
    assert!(said, "no {check:?} with {part:?} in {found:#?}");
}

/// The JSON file with more records.
fn and(more: &str) -> String {
    JSON.replace("\n]", &format!(",\n  {more}\n]"))
}

#[test]
fn an_index_that_only_grew_is_fine() {
    fine(
        &format!("{MARKDOWN}- [K-gotcha-crlf] Lines may end with \\r\\n [source: iter 8]\n"),
        &and(
            r#"{"iteration": 8, "task": "t-3", "summary": "crlf", "tags": ["io"], "memory_id": ["K-gotcha-crlf"]}"#,
        ),
    );
    fine(MARKDOWN, JSON);
    assert_eq!(verify(IndexFiles::default(), before()), Ok(()));
    assert_eq!(verify(IndexFiles::default(), IndexFiles::default()), Ok(()));
}

#[test]
fn a_header_that_is_missing_or_wrong_is_refused() {
    let header = |head: &str| MARKDOWN.replacen("# Knowledge Index", head, 1);
    refused(
        &header("# Index"),
        JSON,
        IndexCheck::Header,
        "the first line must be `# Knowledge Index`",
    );
    let updated = |line: &str| MARKDOWN.replacen("Last updated: iteration 7 (2026-01-17)", line, 1);
    for line in
        ["", "Last updated: today", "Last updated: iteration (x)", "Last updated: iteration 7"]
    {
        refused(&updated(line), JSON, IndexCheck::Header, "second line");
    }
    fine(&updated("Last updated: iteration 12 (now)"), JSON);
}

#[test]
fn an_emptied_or_removed_index_is_refused() {
    refused("", "[]", IndexCheck::Header, "first line");
    refused("", "[]", IndexCheck::HardConstraints, "Must never force push");
    refused(MARKDOWN, "[]", IndexCheck::AppendOnly, "had 2 entries and has 0");
    let gone = wrong(None, None);
    assert!(
        gone.iter().any(|(c, m)| *c == IndexCheck::Header && m.contains("missing")),
        "{gone:?}"
    );
    assert!(
        gone.iter().any(|(c, m)| *c == IndexCheck::AppendOnly && m.contains("missing")),
        "{gone:?}"
    );
}

#[test]
fn a_hard_constraint_is_never_dropped_in_silence() {
    let line = "- [K-constraint-push] Must never force push [source: iter 3]\n";
    let without = MARKDOWN.replace(line, "");
    refused(&without, JSON, IndexCheck::HardConstraints, "`[supersedes: K-constraint-push]`");
    let weaker = MARKDOWN.replace("Must never force push", "Avoid to force push");
    refused(&weaker, JSON, IndexCheck::HardConstraints, line.trim());
    let moved = format!("{without}{line}");
    refused(&moved, JSON, IndexCheck::HardConstraints, "under `## Constraints`");
    let quoted = MARKDOWN.replace(line, &format!("```\n{line}```\n"));
    refused(&quoted, JSON, IndexCheck::HardConstraints, "force push");
    let nameless = MARKDOWN.replace("- whoever writes tests MUST run them\n", "");
    refused(&nameless, JSON, IndexCheck::HardConstraints, "exactly as it was: - whoever");
    // What is not hard may go.
    fine(&MARKDOWN.replace("- [K-constraint-soft] Input is UTF-8\n", ""), JSON);
}

#[test]
fn a_hard_constraint_may_be_superseded_or_retired() {
    let line = "- [K-constraint-push] Must never force push [source: iter 3]\n";
    let new =
        "- [K-constraint-push-own] Must never force push to main [supersedes: K-constraint-push]\n";
    fine(&MARKDOWN.replace(line, new), JSON);
    fine(&MARKDOWN.replace(line, &format!("{line}{new}")), JSON);
    let tombstone = "- [K-constraint-push-over] [source: iter 8] [supersedes: K-constraint-push]\n";
    fine(&MARKDOWN.replace(line, tombstone), JSON);
    let retired = and(
        r#"{"iteration": 8, "task": "t-3", "summary": "allowed now", "tags": [], "supersedes": "K-constraint-push", "retired": true}"#,
    );
    fine(&MARKDOWN.replace(line, ""), &retired);
    let itself =
        MARKDOWN.replace(line, "- [K-constraint-push] Push [supersedes: K-constraint-push]\n");
    refused(&itself, JSON, IndexCheck::HardConstraints, "another id");
    refused(&itself, JSON, IndexCheck::Ids, "supersedes itself");
}

#[test]
fn the_history_only_grows_and_earlier_entries_stay_byte_for_byte() {
    refused(
        MARKDOWN,
        &JSON.replace("bom\"", "BOM\""),
        IndexCheck::AppendOnly,
        "entry of iteration 7 was changed",
    );
    refused(MARKDOWN, &JSON.replace(": 3,", ":3,"), IndexCheck::AppendOnly, "reformatted");
    let first = r#"{"iteration": 9, "task": "t", "summary": "s", "tags": []}"#;
    let in_front = JSON.replacen('[', &format!("[{first},"), 1);
    refused(MARKDOWN, &in_front, IndexCheck::AppendOnly, "(and 1 after it)");
    refused(MARKDOWN, "[", IndexCheck::AppendOnly, "cannot be read: line 1");
    refused(MARKDOWN, "{}", IndexCheck::AppendOnly, "an array");
    // What stands around the entries is nobody's.
    fine(MARKDOWN, &format!("{}\n", JSON.replace("\n  {", "\n    {")));
}

#[test]
fn an_iteration_has_one_entry_with_all_its_fields() {
    let twice = and(r#"{"iteration": 3, "task": "t", "summary": "s", "tags": []}"#);
    refused(MARKDOWN, &twice, IndexCheck::AppendOnly, "iteration 3 is there already");
    for (record, part) in [
        (r#"{"task": "t", "summary": "s", "tags": []}"#, "`iteration` is missing"),
        (r#"{"iteration": "8", "task": "t", "summary": "s", "tags": []}"#, "`iteration` must be"),
        (r#"{"iteration": 8, "summary": "s", "tags": []}"#, "`task` is missing"),
        (r#"{"iteration": 8, "task": "t", "summary": null, "tags": []}"#, "`summary` is missing"),
        (r#"{"iteration": 8, "task": "t", "summary": "s"}"#, "`tags` is missing"),
        (r#"{"iteration": 8, "task": "t", "summary": "s", "tags": "x"}"#, "`tags` must be"),
        ("7", "expected an object"),
    ] {
        refused(MARKDOWN, &and(record), IndexCheck::AppendOnly, part);
    }
}

#[test]
fn no_two_active_entries_share_an_id_and_whatever_is_superseded_exists() {
    let entry = |more: &str| {
        and(&format!(r#"{{"iteration": 8, "task": "t", "summary": "s", "tags": [], {more}}}"#))
    };
    refused(
        MARKDOWN,
        &entry(r#""memory_id": "K-gotcha-bom""#),
        IndexCheck::Ids,
        "in force already (entry 2",
    );
    fine(MARKDOWN, &entry(r#""memory_id": "K-gotcha-bom", "supersedes": "K-gotcha-bom""#));
    fine(MARKDOWN, &entry(r#""memory_id": "K-gotcha-bom-2", "supersedes": ["K-gotcha-bom"]"#));
    refused(MARKDOWN, &entry(r#""supersedes": "K-gotcha-bon""#), IndexCheck::Ids, "`K-gotcha-bon`");
    refused(MARKDOWN, &entry(r#""memory_id": "rule 7""#), IndexCheck::Ids, "K-<kind>-<slug>");
    let line = |line: &str| format!("{MARKDOWN}{line}\n");
    refused(
        &line("- [K-gotcha-bom] Another one"),
        JSON,
        IndexCheck::Ids,
        "stands on line 10 already",
    );
    refused(&line("- [K-trap-x] y"), JSON, IndexCheck::Ids, "K-<kind>-<slug>");
    refused(
        &line("- [K-gotcha-y] y [supersedes: K-gotcha-zzz]"),
        JSON,
        IndexCheck::Ids,
        "names nothing",
    );
}

#[test]
fn an_id_that_was_superseded_is_not_given_out_again() {
    let json = and(
        r#"{"iteration": 8, "task": "t", "summary": "s", "tags": [], "supersedes": "K-gotcha-bom"}"#,
    );
    let markdown = MARKDOWN.replace("- [K-gotcha-bom] A byte order mark may come first\n", "");
    let again = format!("{markdown}- [K-gotcha-bom] It must never come back\n");
    let old = IndexFiles { markdown: Some(&markdown), json: Some(&json) };
    let found = verify(old, IndexFiles { markdown: Some(&again), json: Some(&json) }).unwrap_err();
    assert!(found[0].message.contains("superseded before"), "{found:?}");
}

#[test]
fn mistakes_that_were_there_before_are_not_held_against_a_new_entry() {
    let json = r#"[{"iteration": 1}, {"iteration": 1, "memory_id": "x", "supersedes": "y"}]"#;
    let markdown = "# Knowledge Index\nLast updated: iteration 1 (x)\n- [K-a] one\n- [K-a] two\n";
    let more =
        json.replace("}]", r#"}, {"iteration": 2, "task": "t", "summary": "s", "tags": []}]"#);
    let old = IndexFiles { markdown: Some(markdown), json: Some(json) };
    assert_eq!(verify(old, IndexFiles { markdown: Some(markdown), json: Some(&more) }), Ok(()));
    // Seen for itself, every mistake is told.
    assert!(verify(IndexFiles::default(), old).unwrap_err().len() >= 7);
}

#[test]
fn a_file_that_was_damaged_before_is_left_to_a_person() {
    let old = IndexFiles { json: Some("[{"), ..before() };
    let found = verify(old, before()).unwrap_err();
    assert!(found[0].message.contains("a person has to mend it"), "{found:?}");
}
