//! The first spec of a new project: it shows what a good one looks like, and is none.

/// Path of the starter spec, from the root of the project.
pub const STARTER_FILE: &str = "ralph/specs/first.md";

/// Text of the starter spec.
pub const STARTER: &str = include_str!("../../assets/starter-spec.md");

/// Whether a spec is the starter and nobody has written anything into it.
pub fn is_starter(text: &str) -> bool {
    let words = |text: &'_ str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(text) == words(STARTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SpecOutline;

    #[test]
    fn the_starter_is_a_spec_with_criteria_and_is_recognised_however_it_is_saved() {
        let spec = SpecOutline::parse("first.md", STARTER);
        assert!(spec.title.is_some() && spec.boxes.len() == 3, "{spec:?}");
        assert!(is_starter(STARTER) && is_starter(&STARTER.replace('\n', "\r\n")));
        assert!(is_starter(&format!("{STARTER}\n\n")));
        assert!(!is_starter(&STARTER.replace("- [ ] README.md shows the new option\n", "")));
        assert!(!is_starter("") && !is_starter("# Mine\n"));
    }
}
