//! The JSON reader against serde_json: the same verdict and the same value. Ours refuses duplicate
//! keys on purpose, and the two count depth differently.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::json::{self, JsonKind, JsonNode};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let theirs = serde_json::from_str::<Value>(text);
    match (json::parse(text), theirs) {
        (Ok(ours), Ok(theirs)) => {
            let ours_value = ours.to_value(text);
            assert!(same(&ours_value, &theirs), "we read {ours_value}, serde_json {theirs}");
            spans_nest(&ours, 0, text.len());
        }
        (Ok(_), Err(theirs)) => {
            let too_deep = theirs.to_string().starts_with("recursion limit");
            assert!(too_deep, "we read what serde_json refuses: {theirs}");
        }
        (Err(ours), Ok(_)) => {
            let on_purpose = ["twice", "deep"].iter().any(|word| ours.message.contains(word));
            assert!(on_purpose, "we refuse what serde_json reads: {ours}");
        }
        (Err(ours), Err(_)) => assert!(text.get(..ours.offset).is_some(), "{ours}"),
    }
});

/// Equal, but for the sign of zero and the last bit of a double: serde_json does not always round
/// to the nearest one.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            let close = |a: f64, b: f64| (a - b).abs() <= a.abs() * 4.0 * f64::EPSILON;
            match (a.is_f64() || b.is_f64(), a.as_f64(), b.as_f64()) {
                (true, Some(a), Some(b)) => close(a, b) || a.abs() < f64::MIN_POSITIVE,
                _ => a == b,
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.into_iter().all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => ours == theirs,
    }
}

/// Every value lies inside its parent, in order and on character boundaries.
fn spans_nest(node: &JsonNode, start: usize, end: usize) {
    assert!(start <= node.span.start && node.span.end <= end && !node.span.is_empty());
    match &node.kind {
        JsonKind::Array(items) => {
            let mut from = node.span.start;
            for item in items {
                spans_nest(item, from, node.span.end);
                from = item.span.end;
            }
        }
        JsonKind::Object(members) => {
            let mut from = node.span.start;
            for member in members {
                assert!(from <= member.key_span.start);
                spans_nest(&member.value, member.key_span.end, node.span.end);
                from = member.value.span.end;
            }
        }
        _ => {}
    }
}
