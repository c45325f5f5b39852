//! Edits follow the file's style and touch nothing else.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::parse_tests::{any_string, any_value};
use super::*;
use crate::text::{Splice, splice};

/// One change at a time.
impl JsonEditor<'_> {
    fn set(&self, node: &JsonNode, key: &str, value: Value) -> Result<Vec<Splice>, JsonError> {
        self.object(node, &[MemberChange::Set(key.to_owned(), value)])
    }

    fn remove(&self, node: &JsonNode, key: &str) -> Result<Vec<Splice>, JsonError> {
        self.object(node, &[MemberChange::Remove(key.to_owned())])
    }

    fn push(&self, node: &JsonNode, value: Value) -> Result<Vec<Splice>, JsonError> {
        self.array(node, &[ItemChange::Push(value)])
    }

    fn insert(&self, node: &JsonNode, at: usize, value: Value) -> Result<Vec<Splice>, JsonError> {
        self.array(node, &[ItemChange::Insert(at, value)])
    }

    fn remove_item(&self, node: &JsonNode, at: usize) -> Result<Vec<Splice>, JsonError> {
        self.array(node, &[ItemChange::Remove(at)])
    }
}

/// The node at a path of keys and indexes.
fn at<'a>(root: &'a JsonNode, path: &str) -> &'a JsonNode {
    path.split('/').filter(|p| !p.is_empty()).fold(root, |node, step| match &node.kind {
        JsonKind::Array(items) => &items[step.parse::<usize>().unwrap()],
        _ => node.get(step).unwrap(),
    })
}

fn edited(text: &str, make: impl Fn(&JsonEditor<'_>, &JsonNode) -> Vec<Splice>) -> String {
    let root = parse_file(text).unwrap();
    let out = splice(text, make(&JsonEditor::new(text, &root), &root)).unwrap();
    parse_file(&out).unwrap();
    out
}

fn set(text: &str, path: &str, key: &str, value: Value) -> String {
    edited(text, |e, root| e.set(at(root, path), key, value.clone()).unwrap())
}

fn push(text: &str, path: &str, value: Value) -> String {
    edited(text, |e, root| e.push(at(root, path), value.clone()).unwrap())
}

fn remove(text: &str, path: &str, key: &str) -> String {
    edited(text, |e, root| e.remove(at(root, path), key).unwrap())
}

#[test]
fn a_compact_object_stays_compact() {
    assert_eq!(
        set(r#"{"a":1,"b":2}"#, "", "c", json!([1, {"x": 2}])),
        r#"{"a":1,"b":2,"c":[1,{"x":2}]}"#
    );
    assert_eq!(set(r#"{"a":1}"#, "", "b", json!("x")), r#"{"a":1,"b":"x"}"#);
    assert_eq!(set(r#"{"a":1}"#, "", "a", json!([2, 3])), r#"{"a":[2,3]}"#);
}

#[test]
fn a_line_with_spaces_keeps_its_spaces() {
    assert_eq!(
        set(r#"{"a": 1, "b": 2}"#, "", "c", json!({"x": [1, 2]})),
        r#"{"a": 1, "b": 2, "c": {"x": [1, 2]}}"#
    );
    assert_eq!(set(r#"{"a": 1}"#, "", "b", json!(2)), r#"{"a": 1, "b": 2}"#);
    assert_eq!(
        set(r#"{ "a" : 1 }"#, "", "b", json!({"c": 2})),
        r#"{ "a" : 1, "b" : { "c" : 2 } }"#
    );
    assert_eq!(push("[1, 2]", "", json!(3)), "[1, 2, 3]");
}

#[test]
fn a_pretty_object_gets_a_line_more() {
    let text = "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}\n";
    assert_eq!(
        set(text, "", "d", json!({"x": [1, 2], "y": {}})),
        "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    },\n    \"d\": {\n        \"x\": [\n            1,\n            2\n        ],\n        \"y\": {}\n    }\n}\n"
    );
    assert_eq!(
        set(text, "b", "e", json!(3)),
        "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2,\n        \"e\": 3\n    }\n}\n"
    );
}

#[test]
fn line_ends_and_tabs_are_those_of_the_file() {
    let text = "{\r\n\t\"a\": [],\r\n\t\"b\": 1\r\n}\r\n";
    assert_eq!(
        push(text, "a", json!({"c": 1})),
        "{\r\n\t\"a\": [\r\n\t\t{\r\n\t\t\t\"c\": 1\r\n\t\t}\r\n\t],\r\n\t\"b\": 1\r\n}\r\n"
    );
    assert_eq!(
        set(text, "", "d", json!([1])),
        "{\r\n\t\"a\": [],\r\n\t\"b\": 1,\r\n\t\"d\": [\r\n\t\t1\r\n\t]\r\n}\r\n"
    );
}

#[test]
fn empty_containers_open_in_the_style_around_them() {
    assert_eq!(set("{}", "", "a", json!(1)), r#"{"a":1}"#);
    assert_eq!(set("{ }", "", "a", json!(1)), r#"{"a":1}"#);
    assert_eq!(set("{\n}", "", "a", json!(1)), "{\n  \"a\": 1\n}");
    assert_eq!(push(r#"{"a": []}"#, "a", json!(1)), r#"{"a": [1]}"#);
    assert_eq!(
        push("{\n  \"a\": [],\n  \"b\": [\"x\"]\n}", "a", json!("y")),
        "{\n  \"a\": [\"y\"],\n  \"b\": [\"x\"]\n}",
        "lists stand on one line in this file"
    );
    assert_eq!(
        push("{\n  \"a\": [],\n  \"b\": [\n    \"x\"\n  ]\n}", "a", json!("y")),
        "{\n  \"a\": [\n    \"y\"\n  ],\n  \"b\": [\n    \"x\"\n  ]\n}"
    );
    let rows = "[\n  {\"id\": 1, \"deps\": []},\n  {\"id\": 2, \"deps\": [1]}\n]";
    assert_eq!(
        push(rows, "0/deps", json!(2)),
        "[\n  {\"id\": 1, \"deps\": [2]},\n  {\"id\": 2, \"deps\": [1]}\n]"
    );
}

#[test]
fn new_items_look_like_their_neighbours() {
    let rows = "[\n  {\"id\": 1},\n  {\"id\": 2}\n]";
    assert_eq!(
        push(rows, "", json!({"id": 3, "x": [1, 2]})),
        "[\n  {\"id\": 1},\n  {\"id\": 2},\n  {\"id\": 3, \"x\": [1, 2]}\n]"
    );
    let cuddled = "{\n  \"t\": [{\n    \"a\": 1\n  }]\n}";
    assert_eq!(
        push(cuddled, "t", json!({"a": 2})),
        "{\n  \"t\": [{\n    \"a\": 1\n  }, {\n    \"a\": 2\n  }]\n}"
    );
    let comma_first = "[ 1\n, 2\n]";
    assert_eq!(push(comma_first, "", json!(3)), "[ 1\n, 2\n, 3\n]");
    let blank_line = "[\n  1,\n\n  2\n]";
    assert_eq!(push(blank_line, "", json!(3)), "[\n  1,\n\n  2,\n  3\n]");
}

#[test]
fn a_replaced_value_keeps_the_layout_it_had() {
    let text = "{\n  \"a\": [1, 2],\n  \"b\": [\n    1\n  ]\n}";
    assert_eq!(set(text, "", "a", json!([3])), text.replace("[1, 2]", "[3]"));
    let taller = "{\n  \"b\": {\n    \"c\": 1\n  },\n  \"a\": {\"c\": 1}\n}";
    assert_eq!(
        set(taller, "", "b", json!({"d": 2})),
        "{\n  \"b\": {\n    \"d\": 2\n  },\n  \"a\": {\"c\": 1}\n}"
    );
}

#[test]
fn removing_takes_the_comma_and_the_line_along() {
    let text = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n";
    assert_eq!(remove(text, "", "a"), "{\n  \"b\": 2,\n  \"c\": 3\n}\n");
    assert_eq!(remove(text, "", "b"), "{\n  \"a\": 1,\n  \"c\": 3\n}\n");
    assert_eq!(remove(text, "", "c"), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    assert_eq!(remove(text, "", "nothing"), text);
    assert_eq!(remove("{\n  \"a\": 1\n}\n", "", "a"), "{}\n");
    assert_eq!(remove(r#"{"a":1, "b":2}"#, "", "a"), r#"{"b":2}"#);
}

#[test]
fn a_value_that_is_already_there_is_not_respelled() {
    let text = r#"{"a": "\u0041", "b": 10}"#;
    assert_eq!(set(text, "", "a", json!("A")), text);
    assert_eq!(set(text, "", "b", json!(10)), text);
}

#[test]
fn many_changes_of_one_object_go_together() {
    use MemberChange::{Remove, Set};
    let text = r#"{"a":1,"b":2,"c":3}"#;
    let change =
        |changes: &[MemberChange]| edited(text, |e, root| e.object(root, changes).unwrap());
    let set = |key: &str, value: i32| Set(key.into(), json!(value));
    let remove = |key: &str| Remove(key.into());
    assert_eq!(change(&[remove("c"), set("d", 4), set("e", 5)]), r#"{"a":1,"b":2,"d":4,"e":5}"#);
    assert_eq!(change(&[remove("a"), remove("b"), remove("c"), set("d", 4)]), r#"{"d":4}"#);
    assert_eq!(change(&[remove("a"), remove("b"), remove("c")]), "{}");
    assert_eq!(change(&[set("c", 9), set("d", 4), remove("b")]), r#"{"a":1,"c":9,"d":4}"#);
    assert_eq!(
        change(&[set("a", 7), set("a", 8), set("d", 1), remove("d")]),
        r#"{"a":8,"b":2,"c":3}"#
    );
    assert_eq!(change(&[remove("a"), set("a", 8)]), r#"{"a":8,"b":2,"c":3}"#);
}

#[test]
fn many_changes_of_one_array_go_together() {
    use ItemChange::{Insert, Push, Remove, Set};
    let text = "[0, 1, 2, 3]";
    let change = |changes: &[ItemChange]| edited(text, |e, root| e.array(root, changes).unwrap());
    assert_eq!(
        change(&[Insert(0, json!("a")), Insert(0, json!("b"))]),
        r#"["a", "b", 0, 1, 2, 3]"#
    );
    assert_eq!(change(&[Insert(2, json!("a")), Remove(2), Set(3, json!(9))]), r#"[0, 1, "a", 9]"#);
    assert_eq!(
        change(&[Remove(0), Insert(1, json!("a")), Push(json!("z"))]),
        r#"["a", 1, 2, 3, "z"]"#
    );
    assert_eq!(
        change(&[Remove(3), Push(json!("z")), Insert(4, json!("y"))]),
        r#"[0, 1, 2, "z", "y"]"#
    );
    assert_eq!(change(&[Set(1, json!(8)), Remove(1)]), "[0, 2, 3]");
    assert_eq!(change(&[Remove(0), Remove(1), Remove(2), Remove(3)]), "[]");
    assert_eq!(edited(text, |e, root| e.insert(root, 1, json!(7)).unwrap()), "[0, 7, 1, 2, 3]");
    assert_eq!(edited(text, |e, root| e.remove_item(root, 3).unwrap()), "[0, 1, 2]");
}

#[test]
fn the_wrong_kind_of_container_is_an_error() {
    let text = "[1]";
    let root = parse(text).unwrap();
    let editor = JsonEditor::new(text, &root);
    assert_eq!(editor.set(&root, "a", json!(1)).unwrap_err().message, "expected an object here");
    assert!(editor.remove_item(&root, 1).is_err());
    assert!(editor.insert(&root, 2, json!(1)).is_err());
    assert!(editor.push(&root.items().unwrap()[0], json!(1)).is_err());
}

/// A value as text in one of several styles, tagged for shrinking.
fn written(value: &Value, style: u8) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap();
    match style {
        0 => value.to_string(),
        1 => pretty,
        2 => pretty.replace('\n', "\r\n"),
        _ => format!("\u{feff} {value}\n"),
    }
}

#[derive(Clone, Debug)]
enum Change {
    Set(String, Value),
    Remove(prop::sample::Index),
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any_string(), any_value()).prop_map(|(k, v)| Change::Set(k, v)),
        any::<prop::sample::Index>().prop_map(Change::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn object_edits_mean_what_they_say_and_leave_other_members_alone(
        members in prop::collection::vec((any_string(), any_value()), 0..8),
        changes in prop::collection::vec(any_change(), 0..6),
        style in 0..4u8,
    ) {
        let old: Map<String, Value> = members.into_iter().collect();
        let mut expected = old.clone();
        let changes: Vec<MemberChange> = changes.into_iter().map(|change| match change {
            Change::Set(key, value) => MemberChange::Set(key, value),
            Change::Remove(index) if old.is_empty() => MemberChange::Remove(format!("{index:?}")),
            Change::Remove(i) => {
                MemberChange::Remove(old.keys().nth(i.index(old.len())).unwrap().clone())
            }
        }).collect();
        for change in &changes {
            match change {
                MemberChange::Set(key, value) => { expected.insert(key.clone(), value.clone()); }
                MemberChange::Remove(key) => { expected.shift_remove(key); }
            }
        }
        let text = written(&Value::from(old), style);
        let root = parse_file(&text).unwrap();
        let out = splice(&text, JsonEditor::new(&text, &root).object(&root, &changes).unwrap()).unwrap();
        let new = parse_file(&out).unwrap();
        prop_assert_eq!(new.to_value(&out), Value::from(expected));
        for member in root.members().unwrap() {
            if !changes.iter().any(|c| matches!(c,
                MemberChange::Set(k, _) | MemberChange::Remove(k) if *k == member.key))
            {
                let now = new.members().unwrap().iter().find(|m| m.key == member.key).unwrap();
                prop_assert_eq!(&text[member.span()], &out[now.span()]);
            }
        }
        if style == 2 {
            prop_assert_eq!(out.matches('\n').count(), out.matches("\r\n").count());
        }
        if changes.is_empty() {
            prop_assert_eq!(&out, &text);
        }
    }

    #[test]
    fn array_edits_mean_what_they_say(
        old in prop::collection::vec(any_value(), 0..6),
        inserts in prop::collection::vec((any::<prop::sample::Index>(), any_value()), 0..4),
        removes in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        style in 0..4u8,
    ) {
        let mut changes = Vec::new();
        let mut slots: Vec<Vec<Value>> = vec![Vec::new(); old.len() + 1];
        for (i, value) in inserts {
            let at = i.index(old.len() + 1);
            slots[at].push(value.clone());
            changes.push(ItemChange::Insert(at, value));
        }
        let gone: Vec<usize> = match old.len() {
            0 => Vec::new(),
            n => removes.iter().map(|i| i.index(n)).collect(),
        };
        changes.extend(gone.iter().map(|&at| ItemChange::Remove(at)));
        let mut expected = Vec::new();
        for (i, slot) in slots.into_iter().enumerate() {
            expected.extend(slot);
            expected.extend(old.get(i).filter(|_| !gone.contains(&i)).cloned());
        }
        let text = written(&json!({"before": [1], "list": old, "after": {}}), style);
        let root = parse_file(&text).unwrap();
        let list = root.get("list").unwrap();
        let out = splice(&text, JsonEditor::new(&text, &root).array(list, &changes).unwrap()).unwrap();
        let new = parse_file(&out).unwrap();
        let value = json!({"before": [1], "list": expected, "after": {}});
        prop_assert_eq!(new.to_value(&out), value);
        prop_assert_eq!(&text[..list.span.start], &out[..list.span.start]);
        prop_assert_eq!(&text[list.span.end..], &out[new.get("list").unwrap().span.end..]);
    }

    #[test]
    fn a_pretty_file_stays_exactly_as_a_pretty_printer_would_write_it(
        members in prop::collection::vec(("[a-e]{1,2}", any_value()), 1..6),
        key in "[a-e]{1,2}",
        value in any_value(),
    ) {
        let old: Map<String, Value> = members.into_iter().collect();
        let mut expected = old.clone();
        expected.insert(key.clone(), value.clone());
        let text = serde_json::to_string_pretty(&old).unwrap();
        prop_assert_eq!(set(&text, "", &key, value), serde_json::to_string_pretty(&expected).unwrap());
    }
}
