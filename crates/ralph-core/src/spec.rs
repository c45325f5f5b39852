//! Specs: markdown files that people write.

use schemars::JsonSchema;
use serde::Serialize;

/// Facts about a spec that ralph reads without the help of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecOutline {
    /// File name of the spec, relative to `ralph/specs/`.
    pub name: String,
    /// The first heading, where there is one.
    pub title: Option<String>,
    /// Checkboxes outside of code. Most of them are acceptance criteria.
    pub boxes: Vec<Checkbox>,
}

/// Checkbox in a spec, usually an acceptance criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checkbox {
    /// True when the checkbox is ticked.
    pub ticked: bool,
    /// Text of the list item, without the box.
    pub text: String,
}

impl SpecOutline {
    /// Parse the markdown of a spec.
    pub fn parse(name: &str, text: &str) -> Self {
        use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
        let mut spec = Self { name: name.to_owned(), title: None, boxes: Vec::new() };
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TASKLISTS) {
            match event {
                Event::Start(Tag::Heading { .. }) if spec.title.is_none() => {
                    heading = Some(String::new());
                }
                Event::End(TagEnd::Heading(_)) => {
                    spec.title = spec.title.or(heading.take().filter(|h| !h.trim().is_empty()));
                }
                Event::TaskListMarker(ticked) => {
                    spec.boxes.push(Checkbox { ticked, text: String::new() });
                }
                // A nested list belongs to the item above, whose own text ends there.
                Event::Text(t) | Event::Code(t) => match (&mut heading, spec.boxes.last_mut()) {
                    (Some(heading), _) => heading.push_str(&t),
                    (None, Some(last)) if spec.title.is_none() || !last.text.ends_with('\n') => {
                        last.text.push_str(&t);
                    }
                    _ => {}
                },
                Event::SoftBreak => {
                    if let Some(last) = spec.boxes.last_mut() {
                        last.text.push(' ');
                    }
                }
                Event::End(TagEnd::Item) | Event::Start(Tag::List(_)) => {
                    if let Some(last) = spec.boxes.last_mut()
                        && !last.text.ends_with('\n')
                    {
                        last.text.push('\n');
                    }
                }
                _ => {}
            }
        }
        for found in &mut spec.boxes {
            found.text = found.text.trim().to_owned();
        }
        spec
    }
}

/// The name of a spec from whatever people type: `feature`, `feature.md`, `ralph/specs/feature.md`.
pub fn name(typed: &str) -> Result<String, String> {
    let mut name = typed.trim().trim_start_matches("./");
    name = name.strip_prefix("ralph/specs/").unwrap_or(name);
    let parts: Vec<&str> = name.split('/').collect();
    let bad = name.is_empty()
        || name.contains(['\n', '\r', '\0', '\\'])
        || parts.iter().any(|p| p.is_empty() || *p == "." || *p == "..");
    if bad {
        return Err(format!(
            "`{}` is not the name of a spec in ralph/specs/",
            typed.escape_debug()
        ));
    }
    let has_extension = parts.last().is_some_and(|p| p.trim_start_matches('.').contains('.'));
    Ok(if has_extension { name.to_owned() } else { format!("{name}.md") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_checkboxes_are_read_and_code_is_not() {
        let text = "# Upload `avatars`\n\nText.\n\n## Acceptance\n- [ ] JPG and\n  `PNG` work\n- [x] tested\n  - more\n\nAfter.\n\n```\n- [ ] not this\n```\n";
        let spec = SpecOutline::parse("a.md", text);
        assert_eq!(spec.title.as_deref(), Some("Upload avatars"));
        assert_eq!(
            spec.boxes,
            [
                Checkbox { ticked: false, text: "JPG and PNG work".into() },
                Checkbox { ticked: true, text: "tested".into() }
            ]
        );
    }

    #[test]
    fn names_may_be_typed_in_several_ways_but_stay_inside_the_folder() {
        for typed in ["feature", "feature.md", "ralph/specs/feature.md", "./feature.md"] {
            assert_eq!(name(typed).as_deref(), Ok("feature.md"));
        }
        assert_eq!(name("sub/x.md").as_deref(), Ok("sub/x.md"));
        for typed in ["", "../x.md", "/etc/passwd", "a/../../b", "a\nb", ".."] {
            assert!(name(typed).is_err(), "{typed:?}");
        }
    }
}
