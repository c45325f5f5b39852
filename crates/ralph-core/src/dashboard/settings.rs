//! The settings that a dashboard may change: seed tools' six, and no other key of ralph.toml.

use serde_json::Value;

/// What seed tools call a setting, its key here, and how its value is written.
const WRITABLE: [(&str, &str, Unit); 6] = [
    ("RALPH_VALIDATION_STRATEGY", "gate_strategy", Unit::Word),
    ("RALPH_COMPACTION_INTERVAL", "memory.compaction_interval", Unit::Word),
    ("RALPH_COMPACTION_THRESHOLD_BYTES", "memory.compaction_threshold_bytes", Unit::Word),
    ("RALPH_DEFAULT_MAX_TURNS", "max_turns", Unit::Word),
    ("RALPH_MIN_DELAY_SECONDS", "min_delay", Unit::Seconds),
    ("RALPH_MODE", "mode", Unit::Word),
];

/// Longest value.
const LONGEST: usize = 64;

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// As it is.
    Word,
    /// A bare number is a number of seconds.
    Seconds,
}

/// The keys of ralph.toml that may be written.
pub fn keys() -> impl Iterator<Item = &'static str> {
    WRITABLE.into_iter().map(|(_, key, _)| key)
}

/// The key and the value of a setting, by either of its names; a refusal in words otherwise.
pub fn check(name: &str, value: &Value) -> Result<(&'static str, String), String> {
    let found = WRITABLE.into_iter().find(|(seed, key, _)| *seed == name || *key == name);
    let Some((_, key, unit)) = found else {
        let known: Vec<&str> = keys().collect();
        return Err(format!(
            "that setting cannot be changed here; these can: {}",
            known.join(", ")
        ));
    };
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(format!("`{key}` needs a word or a number")),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() || text.len() > LONGEST || !text.chars().all(plain) {
        return Err(format!("`{key}` takes letters, digits, _ and - only"));
    }
    let bare = unit == Unit::Seconds && text.bytes().all(|b| b.is_ascii_digit());
    Ok((key, if bare { format!("{text}s") } else { text }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_names_of_a_setting_lead_to_its_key() {
        let strict = (("gate_strategy"), "strict".to_owned());
        assert_eq!(check("RALPH_VALIDATION_STRATEGY", &json!("strict")), Ok(strict.clone()));
        assert_eq!(check("gate_strategy", &json!("strict")), Ok(strict));
        assert_eq!(check("min_delay", &json!(30)), Ok(("min_delay", "30s".to_owned())));
        assert_eq!(check("min_delay", &json!("2m")), Ok(("min_delay", "2m".to_owned())));
    }

    #[test]
    fn a_key_that_starts_programs_and_a_value_that_is_no_word_are_refused() {
        for key in ["gates", "backend", "backends.x.command", "redact", "RALPH_VALIDATION_COMMANDS"]
        {
            assert!(check(key, &json!("x")).is_err(), "{key}");
        }
        for value in ["", "a b", "$(id)", "a\nb", "\"", "é", "a=b", "1.5", "x;y"] {
            assert!(check("mode", &json!(value)).is_err(), "{value:?}");
        }
        assert!(check("mode", &json!(["strict"])).is_err());
    }

    #[test]
    fn every_writable_key_is_a_key_of_the_configuration() {
        for key in keys() {
            assert!(crate::config::find_key(key).is_ok(), "{key}");
        }
    }
}
