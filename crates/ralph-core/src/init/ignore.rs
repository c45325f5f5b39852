//! The ignore rules: what ralph writes while it runs and git should not see.

const HEADING: &str = "# what ralph writes while it runs";

/// The rules. The last one is for the unfinished files that a crash may leave beside any other, those
/// before it for what is kept beside a plan.
const RULES: [&str; 13] = [
    "/ralph/.agent-session",
    "/.ralph/state.json",
    "/.ralph/handoffs/",
    "/.ralph/context/",
    "/.ralph/control/",
    "/.ralph/logs/",
    "/.ralph/*.lock",
    "/build/ralph-logs/",
    "plan.json.bak",
    "plan.jsonl.bak",
    "progress.md.bak",
    "implementation.json.bak",
    ".ralph-tmp-*",
];

/// Folders with files of ralph that belong into git, and what is lost when git ignores them.
const KEPT: [(&str, &str); 2] =
    [(".ralph", "the knowledge index and the progress log"), ("ralph", "specs and the plan")];

/// `text` of a .gitignore with the rules it lacks; `None` when it lacks none.
pub fn with_rules(text: &str) -> Option<String> {
    let missing: Vec<&str> = RULES.into_iter().filter(|rule| !lists(text, rule)).collect();
    if missing.is_empty() {
        return None;
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = text.to_owned();
    if !out.is_empty() {
        if !out.ends_with('\n') {
            out.push_str(newline);
        }
        if !out.ends_with("\n\n") && !out.ends_with("\n\r\n") {
            out.push_str(newline);
        }
    }
    for line in [HEADING].into_iter().chain(missing) {
        out.push_str(line);
        out.push_str(newline);
    }
    Some(out)
}

/// Return warnings about rules of a `.gitignore` that hide files which belong in git.
pub(super) fn notes(text: &str) -> Vec<String> {
    let hidden = KEPT.into_iter().filter(|(folder, _)| lists(text, folder));
    hidden
        .map(|(folder, what)| {
            format!(".gitignore ignores all of {folder}/: git will not see {what}")
        })
        .collect()
}

/// Whether a line of `text` is this rule, give or take the slashes around it.
fn lists(text: &str, rule: &str) -> bool {
    let bare = |line: &str| line.trim_end().trim_matches('/').to_owned();
    let rule = bare(rule);
    text.lines().any(|line| bare(line) == rule)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_new_file_has_the_heading_and_every_rule() {
        let text = with_rules("").unwrap();
        assert!(
            text.starts_with("# what ralph writes while it runs\n/ralph/.agent-session\n"),
            "{text}"
        );
        assert!(text.ends_with("implementation.json.bak\n.ralph-tmp-*\n"), "{text}");
        assert_eq!(text.lines().count(), RULES.len() + 1);
    }

    #[test]
    fn only_missing_rules_are_added_and_slashes_make_no_difference() {
        let old = "target/\n.ralph/state.json\nralph/.agent-session\n/.ralph/logs\n";
        let new = with_rules(old).unwrap();
        let added = new.strip_prefix(old).unwrap();
        assert_eq!(
            added,
            "\n# what ralph writes while it runs\n/.ralph/handoffs/\n/.ralph/context/\n/.ralph/control/\n\
             /.ralph/*.lock\n/build/ralph-logs/\nplan.json.bak\nplan.jsonl.bak\nprogress.md.bak\n\
             implementation.json.bak\n.ralph-tmp-*\n"
        );
    }

    #[test]
    fn line_ends_and_a_missing_last_one_are_respected() {
        let new = with_rules("target/\r\n*.log").unwrap();
        assert!(new.starts_with("target/\r\n*.log\r\n\r\n# what"), "{new:?}");
        assert_eq!(new.matches('\n').count(), new.matches("\r\n").count(), "{new:?}");
        assert!(with_rules("a").unwrap().starts_with("a\n\n#"));
        assert!(with_rules("a\n\n").unwrap().starts_with("a\n\n#"));
    }

    #[test]
    fn a_comment_or_an_exception_is_not_a_rule() {
        assert!(
            with_rules("# /.ralph/logs/\n!/.ralph/logs/\n").unwrap().contains("\n/.ralph/logs/\n")
        );
    }

    #[test]
    fn ignoring_whole_folders_is_worth_a_note() {
        assert_eq!(notes("/target\n").len(), 0);
        assert_eq!(
            notes(".ralph/\n"),
            [
                ".gitignore ignores all of .ralph/: git will not see the knowledge index and the progress log"
            ]
        );
        assert!(notes("/ralph\n")[0].contains("specs and the plan"));
    }

    proptest! {
        #[test]
        fn adding_rules_keeps_every_old_byte_and_is_done_once(text in "([a-z/.*!# \r\n]|/\\.ralph/logs/\n){0,60}") {
            if let Some(new) = with_rules(&text) {
                prop_assert!(new.starts_with(&text));
                prop_assert_eq!(with_rules(&new), None);
            }
        }
    }
}
