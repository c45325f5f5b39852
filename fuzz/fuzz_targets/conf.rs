//! Ralph Deluxe's ralph.conf: any text can be read, and what is made of it is a good ralph.toml.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::config::{ConfigTier, conf_to_toml, parse_conf, parse_layer};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let imported = conf_to_toml(&parse_conf(text)).text;
    if let Err(problem) = parse_layer(ConfigTier::Project, "ralph.toml", &imported) {
        panic!(
            "the import cannot be read: {problem}\n--- ralph.conf\n{text}\n--- toml\n{imported}"
        );
    }
});
