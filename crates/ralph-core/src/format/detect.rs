//! Detection of a file's plan format.
//!
//! The extensions `.jsonl` and `.md` decide first, otherwise the content. As little of the content as
//! possible is read. So a damaged file is still recognized, and its own codec can report the error.

use crate::format::{ParseError, PlanFormat};
use crate::json;
use crate::text;

/// The format of the file called `path_hint` with this text. A file without content, or one that is
/// not there yet, is judged by its name alone.
pub fn detect(path_hint: &str, text: &str) -> Result<PlanFormat, ParseError> {
    let name = path_hint.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let content = text.get(text::bom_len(text)..).unwrap_or_default().trim_start();
    if name.ends_with(".jsonl") {
        return Ok(PlanFormat::Jsonl);
    }
    if name.ends_with(".md") || name.ends_with(".markdown") {
        return Ok(PlanFormat::Progress);
    }
    if content.is_empty() {
        return by_name(&name).ok_or_else(|| {
            ParseError::new(1, format!("cannot tell the plan format from the name; {EXPECTED}"))
        });
    }
    by_content(content).ok_or_else(|| ParseError::new(1, format!("not a plan; {EXPECTED}")))
}

const EXPECTED: &str = "expected plan.jsonl (one JSON record a line, each with `t`), \
    plan.json (an object with a `tasks` array), implementation.json (an object with a `specs` array) \
    or progress.md (markdown with a `## Tasks` heading)";

fn by_name(name: &str) -> Option<PlanFormat> {
    PlanFormat::ALL.into_iter().find(|format| format.file_name() == name)
}

fn by_content(content: &str) -> Option<PlanFormat> {
    if is_progress(content) {
        return Some(PlanFormat::Progress);
    }
    let first = content.lines().next().unwrap_or_default();
    if json::parse(first).is_ok_and(|record| record.get("t").is_some()) {
        return Some(PlanFormat::Jsonl);
    }
    root_arrays(content).find_map(|key| match key {
        "specs" => Some(PlanFormat::Implementation),
        "tasks" => Some(PlanFormat::Deluxe),
        _ => None,
    })
}

fn is_progress(content: &str) -> bool {
    let heading = |line: &str| {
        let line = line.trim_end();
        line == "## Tasks" || line == "# Progress" || line.starts_with("# Progress:")
    };
    !content.starts_with('{') && content.lines().any(heading)
}

/// The keys of the root object whose values are arrays, as far as the text can be read.
fn root_arrays(content: &str) -> impl Iterator<Item = &str> {
    let bytes = content.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    let mut last_string = "";
    std::iter::from_fn(move || {
        while let Some(&byte) = bytes.get(at) {
            let here = at;
            at += 1;
            match byte {
                b'"' => {
                    at = string_end(bytes, at);
                    last_string = content.get(here + 1..at.saturating_sub(1)).unwrap_or_default();
                }
                b'{' | b'[' => {
                    depth += 1;
                    if byte == b'[' && depth == 2 {
                        return Some(last_string);
                    }
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    })
}

/// The byte after the closing quote of a string whose first byte is at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += if byte == b'\\' { 2 } else { 1 };
        if byte == b'"' {
            break;
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_before_the_content() {
        assert_eq!(detect("ralph/plan.jsonl", r#"{"tasks": []}"#), Ok(PlanFormat::Jsonl));
        assert_eq!(detect(r"docs\PROGRESS.MD", ""), Ok(PlanFormat::Progress));
    }

    #[test]
    fn json_is_told_apart_by_the_arrays_of_its_root() {
        let specs = "\u{feff}{\r\n  \"specs\": [{\"tasks\": []}]\r\n}\r\n";
        assert_eq!(detect("plan.json", specs), Ok(PlanFormat::Implementation));
        let tasks = r#"{"specs": "see [docs]", "a": {"specs": []}, "tasks" : [ ]}"#;
        assert_eq!(detect("implementation.json", tasks), Ok(PlanFormat::Deluxe));
    }

    #[test]
    fn records_and_headings_are_known_without_a_name() {
        assert_eq!(detect("-", "\n{\"t\":\"spec\",\"spec\":\"a.md\"}\n"), Ok(PlanFormat::Jsonl));
        assert_eq!(detect("-", "{\"t\":\"task\",\"tasks\":[]}\n{\"t\":"), Ok(PlanFormat::Jsonl));
        assert_eq!(detect("-", "# Progress: shop\n"), Ok(PlanFormat::Progress));
        assert_eq!(detect("notes.txt", "intro\r\n## Tasks\r\n"), Ok(PlanFormat::Progress));
    }

    #[test]
    fn a_damaged_file_is_still_recognised() {
        assert_eq!(detect("x.json", r#"{"a": 1 "tasks": [{"id": "#), Ok(PlanFormat::Deluxe));
        assert_eq!(
            detect("x.json", r#"{"say": "\"[", "specs": ["#),
            Ok(PlanFormat::Implementation)
        );
    }

    #[test]
    fn an_empty_file_is_judged_by_its_name() {
        for format in PlanFormat::ALL {
            assert_eq!(detect(&format!("some/dir/{format}"), " \n"), Ok(format));
        }
        let error = detect("todo.json", "").unwrap_err();
        assert!(error.message.contains("implementation.json"), "{error}");
    }

    #[test]
    fn what_is_no_plan_is_refused_with_what_was_expected() {
        for text in ["[]", "{}", "{\"t", "\"tasks\"", "hello", "{\"a\\", "\"\\\"", "]]}[["] {
            let error = detect("file", text).unwrap_err();
            assert!(error.message.contains("`specs`"), "{error}");
        }
    }
}
