//! The user's hooks see the candidate, and the agent's repository never reaches them.

use ralph_host::git::RepoPath;
use ralph_host::lanes::{HookReport, Lane};

use crate::stage::{Stage, bare, git, script, write};

/// A lane whose index holds a changed `a`.
fn with_candidate(stage: &Stage) -> Lane<'_> {
    let lane = stage.lane();
    write(&lane.top().join("a"), "candidate\n");
    let git_dir = lane.repo().git_dir().to_str().unwrap().to_owned();
    let top = lane.top().to_str().unwrap().to_owned();
    git(lane.top(), &["--git-dir", &git_dir, "--work-tree", &top, "add", "-A"]);
    lane
}

#[test]
fn without_hooks_nothing_changes() {
    let stage = Stage::new();
    let lane = with_candidate(&stage);
    let report = lane.run_hooks(&stage.head(), Some("main"), b"subject\n", &bare).unwrap();
    let HookReport::Passed { message, changed, .. } = report else { panic!("{report:?}") };
    assert_eq!((&message[..], changed), (&b"subject\n"[..], vec![]));
    assert!(!lane.top().join(".git").exists());
}

#[test]
fn hooks_see_the_candidate_and_may_change_message_and_files() {
    let stage = Stage::new();
    let hooks = stage.home.join(".git/hooks");
    script(
        &hooks.join("pre-commit"),
        "test \"$(git diff --cached --name-only)\" = a || exit 1\n\
         test \"$(git symbolic-ref --short HEAD)\" = main || exit 1\n\
         test -z \"$HUSKY\" || exit 1\necho formatted >> a; echo new > made\n",
    );
    script(&hooks.join("prepare-commit-msg"), "echo prepared $2 >> \"$1\"\n");
    script(&hooks.join("commit-msg"), "echo checked >> \"$1\"\n");
    let lane = with_candidate(&stage);
    let report = lane.run_hooks(&stage.head(), Some("main"), b"subject\n", &bare).unwrap();
    let HookReport::Passed { message, changed, .. } = report else { panic!("{report:?}") };
    assert_eq!(String::from_utf8(message).unwrap(), "subject\nprepared message\nchecked\n");
    assert_eq!(changed, [RepoPath::from("a"), RepoPath::from("made")]);
    assert_eq!(git(&stage.home, &["status", "--porcelain"]), "");
}

#[test]
fn a_hook_that_refuses_is_told_with_its_words() {
    let stage = Stage::new();
    git(&stage.home, &["config", "core.hooksPath", "my-hooks"]);
    script(&stage.home.join("my-hooks/commit-msg"), "echo a subject needs a ticket; exit 1\n");
    let lane = with_candidate(&stage);
    let report = lane.run_hooks(&stage.head(), Some("main"), b"subject\n", &bare).unwrap();
    let HookReport::Refused { hook, output } = report else { panic!("{report:?}") };
    assert_eq!(hook, "commit-msg");
    assert!(output.contains("a subject needs a ticket"), "{output}");
}
