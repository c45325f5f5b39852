//! progress.md: the laws of every plan format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::format::{PlanFormat, codec};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        ralph_fuzz::codec_laws(codec(PlanFormat::Progress), text);
    }
});
