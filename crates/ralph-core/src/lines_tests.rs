//! Damage is an error with its line; only an unfinished last line is forgiven.

use proptest::prelude::*;

use super::*;

fn error(text: &str) -> ParseError {
    records(text).find_map(Result::err).unwrap()
}

#[test]
fn lines_keep_their_place_whatever_their_ends() {
    let text = "\u{feff}a\r\n\nb";
    let found: Vec<LinePosition> = lines(text).collect();
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].span.clone(), found[0].end), (3..4, 6));
    assert_eq!((found[1].span.clone(), found[1].end), (6..6, 7));
    assert_eq!((found[2].span.clone(), found[2].end, found[2].number), (7..8, 8, 3));
    assert!(found[0].is_closed() && found[1].is_closed() && !found[2].is_closed());
    assert_eq!(found[0].with_end(), 3..6);
    assert_eq!(lines("").count(), 0);
    assert_eq!(lines("\u{feff}").count(), 0);
    assert_eq!(lines("a\n").count(), 1);
}

#[test]
fn only_an_open_last_line_needs_an_end_before_an_append() {
    for (text, end) in
        [("", ""), ("\u{feff}", ""), ("a\n", ""), ("a", "\n"), ("a\r\nb", "\r\n"), ("a\n ", "\n")]
    {
        assert_eq!(missing_end(text), end, "{text:?}");
    }
}

#[test]
fn blank_lines_are_not_records_but_count() {
    let text = "\n  \r\n{\"t\":\"note\"}\n\n{\"t\":\"x\"}";
    let found: Vec<_> = records(text).map(Result::unwrap).collect();
    let numbers: Vec<_> = found.iter().map(|r| (r.line.number, r.kind.as_ref())).collect();
    assert_eq!(numbers, [(3, "note"), (5, "x")]);
    assert_eq!(found[1].node.raw(text), "{\"t\":\"x\"}");
}

#[test]
fn a_damaged_line_stops_reading_and_names_the_line() {
    let text = "{\"t\":\"a\"}\n{\"t\":\"ü\" oops}\n{\"t\":\"c\"}\n";
    let found = error(text);
    assert_eq!((found.line, found.column), (2, Some(10)));
    assert_eq!(found.message, "expected a comma or `}`");
    assert_eq!(records(text).filter(Result::is_ok).count(), 2, "the others can still be read");
}

#[test]
fn a_record_is_an_object_with_a_kind() {
    assert_eq!(error("[1]\n").message, "expected an object, not an array");
    assert_eq!(error("{\"id\":\"x\"}").message, "`t` is missing");
    assert_eq!(error("{\"t\":1}").message, "`t` must be a string, not 1");
    assert!(error("{\"t\":\"a\",\"t\":\"b\"}").message.contains("twice"));
}

#[test]
fn an_unfinished_last_line_is_left_out_and_located() {
    let bytes = b"{\"t\":\"a\"}\n{\"t\":\"ta";
    assert_eq!(decode(bytes), Ok(DecodedText { text: "{\"t\":\"a\"}\n", torn: Some(10) }));
    let halved = "{\"t\":\"a\"}\n{\"t\":\"ä".as_bytes();
    let halved = &halved[..halved.len() - 1];
    assert_eq!(decode(halved), Ok(DecodedText { text: "{\"t\":\"a\"}\n", torn: Some(10) }));
    assert_eq!(torn_tail(b"{\"t\":"), Some(0));
    assert_eq!(torn_tail("\u{feff}{\"t\":".as_bytes()), Some(3));
    assert_eq!(torn_tail(b"{\"t\":\"a\"}\n\0\0\0\0"), Some(10));
}

#[test]
fn a_finished_last_line_without_its_line_end_is_read() {
    for text in ["{\"t\":\"a\"}", "{\"t\":\"a\"}\r", "{\"t\":\"a\"}\n  ", "", "\u{feff}", "\n"] {
        assert_eq!(decode(text.as_bytes()), Ok(DecodedText { text, torn: None }), "{text:?}");
    }
}

#[test]
fn a_damaged_line_with_its_line_end_is_never_torn() {
    let bytes = b"{\"t\":\"a\"}\n{\"t\":\"ta\n";
    assert_eq!(torn_tail(bytes), None);
    assert_eq!(error(decode(bytes).unwrap().text).line, 2);
}

#[test]
fn bytes_that_are_not_text_are_an_error_with_their_line() {
    let found = decode(b"{\"t\":\"a\"}\n{\"t\":\"\xff\"}\n").unwrap_err();
    assert_eq!((found.line, found.column), (2, Some(7)));
    assert_eq!(found.message, "byte 0xff is not UTF-8 text");
    assert_eq!(decode(b"\x1f\x8b\x08\x00binary").unwrap_err().line, 1);
    let early = decode(b"\xc3\n{\"t\":\"a\"}\n{\"t\":\"b").unwrap_err();
    assert_eq!(early.line, 1, "damage above a torn line is still damage");
}

proptest! {
    #[test]
    fn lines_cover_the_whole_text(text in "[a\u{feff}\r\n ]{0,12}") {
        let found: Vec<LinePosition> = lines(&text).collect();
        let mut next = bom_len(&text);
        for (i, line) in found.iter().enumerate() {
            prop_assert_eq!(line.with_end().start, next);
            prop_assert_eq!(line.number, i + 1);
            prop_assert!(line.is_closed() || i + 1 == found.len());
            next = line.end;
        }
        prop_assert_eq!(next, text.len());
    }

    #[test]
    fn every_cut_of_an_append_is_torn_or_complete(name in "\\PC{0,6}", cut in any::<prop::sample::Index>()) {
        let old = "{\"t\":\"a\"}\n";
        let record = format!("{}\n", serde_json::json!({"t": "task", "name": name}));
        let cut = cut.index(record.len() + 1);
        let mut bytes = old.as_bytes().to_vec();
        bytes.extend(&record.as_bytes()[..cut]);
        let decoded = decode(&bytes).unwrap();
        let complete = cut >= record.len() - 1;
        prop_assert_eq!(records(decoded.text).filter(Result::is_ok).count(), 1 + usize::from(complete));
        prop_assert_eq!(decoded.torn.is_some(), !complete && cut > 0);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>()) {
        if let Ok(decoded) = decode(&bytes) {
            prop_assert_eq!(decoded.text.len(), decoded.torn.unwrap_or(bytes.len()));
        }
    }
}

#[test]
fn a_file_that_never_held_a_record_is_not_torn() {
    for bytes in [&b"\x7fELF\x02"[..], b"# Plan", "\u{feff}text".as_bytes(), b"\0\0\0"] {
        assert_eq!(torn_tail(bytes), None);
    }
}
