//! The reader agrees with serde_json, and says in plain words what is wrong.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn complaint(text: &str) -> String {
    parse(text).unwrap_err().message
}

#[test]
fn every_value_knows_its_bytes() {
    let text = r#" {"a" : [1, {"b\n": "c"}], "d": null} "#;
    let root = parse(text).unwrap();
    assert_eq!(root.raw(text), text.trim());
    let items = root.get("a").unwrap().items().unwrap();
    assert_eq!(items[0].raw(text), "1");
    let member = &items[1].members().unwrap()[0];
    assert_eq!(member.key, "b\n");
    assert_eq!(&text[member.key_span.clone()], r#""b\n""#);
    assert_eq!(&text[member.span()], r#""b\n": "c""#);
    assert_eq!(root.get("d").unwrap().kind, JsonKind::Null);
}

#[test]
fn accessors_give_values_of_their_own_type_only() {
    let text = r#"["x", 7, -3, 1.5, true, 1e2, 18446744073709551616]"#;
    let root = parse(text).unwrap();
    let items = root.items().unwrap();
    assert_eq!(items[0].str(text).as_deref(), Some("x"));
    assert_eq!(items[0].u64(text), None);
    assert_eq!((items[1].u64(text), items[1].str(text)), (Some(7), None));
    assert_eq!((items[2].u64(text), items[2].i64(text)), (None, Some(-3)));
    assert_eq!((items[3].i64(text), items[3].f64(text)), (None, Some(1.5)));
    assert_eq!((items[4].bool(), items[1].bool()), (Some(true), None));
    assert_eq!((items[5].u64(text), items[5].f64(text)), (None, Some(100.0)));
    assert_eq!(items[6].u64(text), None);
    assert!(root.get("x").is_none() && root.members().is_none());
}

#[test]
fn strings_without_escapes_are_not_copied() {
    let text = r#"["plain ü", "with \u00fc"]"#;
    let root = parse(text).unwrap();
    let items = root.items().unwrap();
    assert!(matches!(items[0].str(text), Some(Cow::Borrowed("plain ü"))));
    assert!(matches!(items[1].str(text), Some(Cow::Owned(s)) if s == "with ü"));
}

#[test]
fn all_escapes_are_decoded() {
    let text = r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\u20ac!""#;
    let node = parse(text).unwrap();
    assert_eq!(node.str(text).unwrap(), "\"\\/\u{8}\u{c}\n\r\tA😀€!");
}

#[test]
fn a_repeated_key_is_an_error_that_names_it() {
    let error = parse(r#"{"a": 1, "b": {"c": 2, "\u0063": 3}}"#).unwrap_err();
    assert_eq!(error.message, r#"the key "c" stands twice in this object"#);
    assert_eq!(error.offset, 23);
    assert!(parse(r#"{"a": {"a": 1}, "b": {"a": 2}}"#).is_ok());
}

#[test]
fn the_first_repeated_key_of_a_huge_object_is_found_without_comparing_all_pairs() {
    let member = |i: usize| format!("\"k{i}\":{i}");
    let mut members: Vec<String> = (0..100_000).map(member).collect();
    assert!(parse(&format!("{{{}}}", members.join(","))).is_ok());
    members.push(member(70_000));
    members.push(member(3));
    let error = parse(&format!("{{{}}}", members.join(","))).unwrap_err();
    assert!(error.message.contains("\"k70000\""), "{error}");
}

#[test]
fn deep_nesting_is_refused_and_never_overflows_the_stack() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(complaint(&nested(MAX_DEPTH + 1)), "nested more than 128 levels deep");
    assert_eq!(complaint(&"[".repeat(1_000_000)), "nested more than 128 levels deep");
    assert_eq!(complaint(&r#"{"a":"#.repeat(1_000_000)), "nested more than 128 levels deep");
}

#[test]
fn damage_is_named_in_plain_words() {
    for (text, message) in [
        ("", "the text ends where a value should be"),
        ("{} x", "there is more text after the end of the value"),
        ("[1 2]", "expected a comma or `]`"),
        (r#"{"a":1 "b":2}"#, "expected a comma or `}`"),
        ("[1,]", "remove this comma: nothing follows before `]`"),
        (r#"{"a":1,}"#, "remove this comma: nothing follows before `}`"),
        ("[1", "the text ends before the closing `]`"),
        (r#"{"a":1"#, "the text ends before the closing `}`"),
        ("{", "the text ends before the closing `}`"),
        ("{a:1}", "expected a key in double quotes"),
        (r#"{"a" 1}"#, "expected `:` after the key \"a\""),
        (r#"{"a""#, "the text ends after the key \"a\""),
        ("['a']", "strings stand in double quotes, not in single ones"),
        ("[tru]", "expected a value; did you mean `true`?"),
        ("[}", "expected a value"),
        ("01", "a number must not begin with 0"),
        ("-", "expected a digit"),
        ("1.", "expected a digit after the decimal point"),
        ("1e+", "expected a digit in the exponent"),
        ("1e999", "this number is too large"),
        (r#""abc"#, "this string has no closing quote"),
        ("\"a\nb\"", "a line break inside a string; write it as `\\n`"),
        ("\"a\tb\"", "a control character inside a string; write it as `\\u0009`"),
        (r#""\x""#, "unknown escape: a backslash itself is written `\\\\`"),
        (r#""\u12g4""#, "`\\u` needs four hexadecimal digits"),
        (r#""\ud800""#, "half of a character: the second `\\u` is missing"),
        (r#""\ud800\u0041""#, "half of a character: the second `\\u` is missing"),
        (r#""\udc00""#, "half of a character: the first `\\u` is missing"),
    ] {
        assert_eq!(complaint(text), message, "in {text:?}");
    }
}

#[test]
fn errors_have_line_and_column_for_people() {
    let text = "{\n  \"ä\": tru\n}";
    let error = parse(text).unwrap_err().in_text(text);
    assert_eq!((error.line, error.column), (2, Some(8)));
}

#[test]
fn a_byte_order_mark_is_only_stepped_over_by_parse_file() {
    let text = "\u{feff}[7]";
    assert_eq!(complaint(text), "expected a value");
    let root = parse_file(text).unwrap();
    assert_eq!(root.span, 3..6);
    assert_eq!(root.items().unwrap()[0].u64(text), Some(7));
    assert!(parse_file("[7]").is_ok());
}

#[test]
fn a_part_of_a_text_is_read_with_spans_of_the_whole() {
    let text = "[1]\n[2]\n[3]";
    assert_eq!(parse_in(text, 4..7).unwrap().span, 4..7);
    assert!(parse_in(text, 4..8).is_ok());
    assert!(parse_in(text, 4..11).is_err());
    assert!(parse_in(text, 9..99).is_err());
}

/// Any JSON value, a few levels deep.
pub(super) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9f64..1e9).prop_map(Value::from),
        any_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any_string(), inner), 0..6)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

pub(super) fn any_string() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]{0,3}", "\\PC{0,8}", any::<String>()]
}

/// Texts that are nearly JSON: pieces of it in any order.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "\\", "\\u", "00e4", "d83d",
        "\\ude00", "-", "0", "1", "12", ".", "e", "E", "+", "true", "false", "null", " ", "\n",
        "\t", "\u{0}", "ä", "x", "\r",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// A valid text with one character changed, added or removed.
fn damaged() -> impl Strategy<Value = String> {
    let touch = prop::sample::select(vec!["", "\"", "\\", "0", "}", "]", ",", ":", "é", "\n", "-"]);
    (any_value(), any::<prop::sample::Index>(), touch, 0..2usize).prop_map(
        |(value, at, new, drop)| {
            let mut chars: Vec<String> = value.to_string().chars().map(String::from).collect();
            let at = at.index(chars.len());
            chars.splice(at..at + drop, [new.to_owned()]);
            chars.concat()
        },
    )
}

/// Equal, but for the last digit of a double, which serde_json does not promise.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| same(a, b))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs() * 1e-15
        }
        _ => ours == theirs,
    }
}

/// Both readers say the same, except about repeated keys.
fn agrees_with_serde_json(text: &str) -> Result<(), TestCaseError> {
    match (parse(text), serde_json::from_str::<Value>(text)) {
        (Ok(node), Ok(value)) => prop_assert!(same(&node.to_value(text), &value), "{}", text),
        (Err(ours), Ok(_)) => prop_assert!(ours.message.contains("twice"), "{} in {}", ours, text),
        (Ok(_), Err(theirs)) => prop_assert!(false, "accepted {:?}, but {}", text, theirs),
        (Err(ours), Err(_)) => prop_assert!(ours.offset <= text.len()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn written_values_are_read_back(value in any_value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            agrees_with_serde_json(&text)?;
            prop_assert!(parse(&text).is_ok());
        }
    }

    #[test]
    fn damaged_texts_are_judged_as_serde_json_does(text in damaged()) {
        agrees_with_serde_json(&text)?;
    }

    #[test]
    fn nearly_json_is_judged_as_serde_json_does(text in nearly_json()) {
        agrees_with_serde_json(&text)?;
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        agrees_with_serde_json(&text)?;
    }
}

#[test]
fn kinds_have_names_for_messages() {
    let value = json!([null, true, 1, "s", [], {}]);
    let root = parse(&value.to_string()).unwrap();
    let names: Vec<_> = root.items().unwrap().iter().map(JsonNode::kind_name).collect();
    let expected = ["null", "true or false", "a number", "a string", "an array", "an object"];
    assert_eq!(names, expected);
    assert!(root.items().unwrap()[0].is_null());
}
