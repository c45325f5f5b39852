//! A configuration file: reading never panics, and setting a key in a good file leaves a good file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::config::{ConfigTier, parse_layer, resolve, set};

const SETTINGS: [(&str, &str); 4] = [
    ("max_retries", "7"),
    ("build.max_iterations", "9"),
    ("limits.stage_timeout", "3m"),
    ("backends.claude.model", "a \"quoted\" name"),
];

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let layer = parse_layer(ConfigTier::Project, "ralph.toml", text);
    if let Ok(layer) = &layer {
        let _ = resolve([layer]);
    }
    for (key, value) in SETTINGS {
        let Ok(new) = set("ralph.toml", text, key, value) else { continue };
        let again = set("ralph.toml", &new, key, value);
        assert_eq!(
            again.as_deref(),
            Ok(new.as_str()),
            "setting {key} twice is not setting it once"
        );
        if layer.is_ok()
            && let Err(problem) = parse_layer(ConfigTier::Project, "ralph.toml", &new)
        {
            panic!("setting {key} spoilt the file: {problem}\n--- old\n{text}\n--- new\n{new}");
        }
    }
});
