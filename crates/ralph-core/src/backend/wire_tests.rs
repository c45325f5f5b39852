use super::*;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Thing<'a> {
    #[serde(borrow)]
    scalar: Scalar<'a>,
    #[serde(borrow)]
    shape: Shape<'a, Inner<'a>, Object<Inner<'a>>>,
    #[serde(borrow)]
    object: Object<Inner<'a>>,
    #[serde(borrow)]
    list: List<Scalar<'a>>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
struct Inner<'a> {
    #[serde(borrow)]
    x: Scalar<'a>,
}

const ANY: [&str; 9] = [
    "null",
    "true",
    "1",
    "-1",
    "1.5",
    r#""a""#,
    r#""\n""#,
    r#"[1,[2],{"x":3}]"#,
    r#"{"x":{"x":1}}"#,
];

#[test]
fn any_value_in_any_place_costs_only_that_field() {
    for field in ["scalar", "shape", "object", "list", "unknown"] {
        for value in ANY {
            let line = format!(r#"{{"{field}":{value},"scalar2":1}}"#);
            let read = serde_json::from_str::<Thing<'_>>(&line);
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }
}

#[test]
fn what_is_known_is_taken() {
    let line = r#"{"scalar":"plain","shape":{"x":-2},"object":{"x":0.5},"list":[true,"a\nb",7]}"#;
    let thing: Thing<'_> = serde_json::from_str(line).unwrap();
    assert!(matches!(thing.scalar, Scalar::Text(Cow::Borrowed("plain"))));
    assert!(matches!(&thing.shape, Shape::Object(inner) if inner.x.real() == Some(-2.0)));
    assert_eq!(thing.object.0.unwrap().x.real(), Some(0.5));
    assert!(thing.list.0[0].is_true());
    assert_eq!(thing.list.0[1].str(), Some("a\nb"));
    assert_eq!(thing.list.0[2].whole(), Some(7));
}

#[test]
fn a_lone_half_of_a_pair_is_replaced_and_a_whole_pair_is_kept() {
    assert_eq!(repair(br#""a \ud83d b""#).as_deref(), Some(r#""a \ufffd b""#));
    assert_eq!(repair(br#""\ude00\ud83d\ude00""#).as_deref(), Some(r#""\ufffd\ud83d\ude00""#));
    assert_eq!(repair(br#""\ud83d\n""#).as_deref(), Some(r#""\ufffd\n""#));
    assert_eq!(repair(br#""\ud83d\ude00 \\ud83d""#), None);
    assert_eq!(repair(b"\"\\ud83"), None);
    assert_eq!(repair(b"\"a\xff\""), Some("\"a\u{fffd}\"".to_owned()));
}

#[test]
fn a_text_is_cut_between_characters() {
    assert_eq!(head("abc".into(), 3), "abc");
    assert!(head("aé".repeat(9), 5).starts_with("aéa\n… (23 more bytes"));
    assert_eq!(tail("éé", 3), "é");
    assert_eq!(tail("ab", 9), "ab");
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
        let _ = repair(&bytes);
    }

    #[test]
    fn a_repaired_string_can_be_read(units in proptest::collection::vec(proptest::num::u16::ANY, 0..12)) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let line = format!("\"{escaped}\"");
        let expected = String::from_utf16_lossy(&units);
        let read = repair(line.as_bytes()).unwrap_or(line);
        proptest::prop_assert_eq!(serde_json::from_str::<String>(&read).unwrap(), expected);
    }
}
