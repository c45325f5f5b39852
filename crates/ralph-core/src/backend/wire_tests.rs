use super::*;

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
