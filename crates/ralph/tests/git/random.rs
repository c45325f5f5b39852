//! Any work of the user's, any work of the backend's, landed or rolled back: the user's index, files
//! and untracked files are as a simple model says, and the commit holds the backend's change alone.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use ralph_host::git::{LandError, Way};

use crate::stage::{Picture, Stage};

const FILES: [&str; 6] = ["a.txt", "b.txt", "dir/c.txt", "dir/d.sh", "e e.txt", "-f.txt"];

/// What somebody does to one file.
#[derive(Clone, Debug)]
enum Act {
    /// Change the line at the top or at the bottom.
    Line(End, u8),
    Replace(u8),
    Delete,
    Rename(u8),
    Mode,
    Create(u8),
    Link(u8),
    /// Take the file into the index as it is now.
    Stage,
    Intend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Top,
    Bottom,
}

fn act() -> impl Strategy<Value = (usize, Act)> {
    let end = prop_oneof![Just(End::Top), Just(End::Bottom)];
    let act = prop_oneof![
        4 => (end, any::<u8>()).prop_map(|(end, n)| Act::Line(end, n)),
        1 => any::<u8>().prop_map(Act::Replace),
        1 => Just(Act::Delete),
        1 => any::<u8>().prop_map(Act::Rename),
        1 => Just(Act::Mode),
        2 => any::<u8>().prop_map(Act::Create),
        1 => any::<u8>().prop_map(Act::Link),
        4 => Just(Act::Stage),
        1 => Just(Act::Intend),
    ];
    (0..FILES.len(), act)
}

fn start() -> Stage {
    let stage = Stage::new();
    for (number, name) in FILES.iter().enumerate() {
        let text: String = (0..12).map(|n| format!("{number} line {n}\n")).collect();
        stage.write(name, text);
    }
    stage.commit("files");
    stage
}

/// Do it as far as it makes sense.
fn perform(stage: &Stage, (file, act): &(usize, Act)) {
    let name = FILES[*file];
    let path = stage.project.path(name);
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
    match act {
        Act::Line(end, n) if is_file => {
            let bytes = stage.project.read_bytes(name);
            let text = String::from_utf8_lossy(&bytes);
            let mut lines: Vec<&str> = text.lines().collect();
            let new = format!("changed {n}");
            let at = if *end == End::Top { 0 } else { lines.len().saturating_sub(1) };
            if let Some(line) = lines.get_mut(at) {
                *line = &new;
            }
            stage.write(name, format!("{}\n", lines.join("\n")));
        }
        Act::Replace(n) if is_file => stage.write(name, [*n; 40]),
        Act::Delete if is_file => stage.remove(name),
        Act::Rename(n) if is_file => {
            std::fs::rename(&path, stage.project.path(format!("renamed-{}.txt", n % 3))).unwrap();
        }
        Act::Mode if is_file => stage.project.mode(name, 0o755),
        Act::Create(n) => stage.write(format!("new/{}.txt", n % 4), format!("created {n}\n")),
        Act::Link(n) => {
            let link = stage.project.path(format!("link-{}", n % 2));
            let _there = std::os::unix::fs::symlink(format!("to {n}"), link);
        }
        Act::Stage if is_file || tracked(stage, name) => {
            stage.git(["add", "-A", "--", name]);
        }
        Act::Intend => {
            let fresh = "new/0.txt";
            if stage.project.exists(fresh) && !tracked(stage, fresh) {
                stage.git(["add", "-N", "--", fresh]);
            }
        }
        _ => {}
    }
}

fn tracked(stage: &Stage, name: &str) -> bool {
    stage.project.git(["ls-files", "--error-unmatch", "--", name]).code == 0
}

/// Everything in a tree: path → rights and object.
fn tree(stage: &Stage, name: &str) -> BTreeMap<String, String> {
    let out = stage.project.git(["ls-tree", "-r", "-z", name]).ok().stdout;
    out.split('\0')
        .filter_map(|line| line.split_once('\t'))
        .map(|(entry, path)| (path.to_owned(), entry.to_owned()))
        .collect()
}

/// The working tree as git would take it, without touching anything: path → rights and object. The copy
/// keeps its time, by which git knows that an entry may be newer than it looks.
fn files(stage: &Stage) -> BTreeMap<String, String> {
    let script = "cp -p .git/index .git/probe && GIT_INDEX_FILE=.git/probe git add -A && \
                  GIT_INDEX_FILE=.git/probe git write-tree";
    let out = stage.project.shell(script).ok().stdout;
    tree(stage, out.trim())
}

fn index(stage: &Stage) -> BTreeMap<String, String> {
    let out = stage.project.git(["ls-files", "-s", "-z"]).ok().stdout;
    out.split('\0')
        .filter_map(|line| line.split_once('\t'))
        .map(|(entry, path)| (path.to_owned(), entry.to_owned()))
        .collect()
}

type Tree = BTreeMap<String, String>;

/// Paths whose entries differ.
fn difference(from: &Tree, to: &Tree) -> Vec<String> {
    let mut paths: Vec<String> = from.keys().chain(to.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| from.get(path) != to.get(path));
    paths
}

fn check_landing(stage: &Stage, user: &[(usize, Act)], backend: &[(usize, Act)]) {
    user.iter().for_each(|act| perform(stage, act));
    let (head, s0, i0) = (tree(stage, "HEAD"), files(stage), index(stage));
    let before: Picture = stage.picture();
    let cp = stage.checkpoint();
    backend.iter().for_each(|act| perform(stage, act));
    let s1 = files(stage);
    let after: Picture = stage.picture();
    let changes = stage.collect(&cp);
    let expected = difference(&s0, &s1);
    let mut found: Vec<String> = changes.paths.iter().map(|c| c.path.to_string()).collect();
    found.sort();
    assert_eq!(found, expected, "what the backend did");
    match stage.try_land(&cp, &changes) {
        Ok(made) => {
            assert_eq!(stage.picture(), after, "landing touches no file");
            let landed = tree(stage, "HEAD");
            for path in difference(&head, &landed) {
                let renamed = s0.get(&path) != head.get(&path);
                assert!(expected.contains(&path) || renamed, "{path} is not the backend's");
            }
            for path in &expected {
                // Where the user had nothing, the commit holds what the backend left. A new file of
                // the backend's may be one with the user's lines under a new name.
                let may_be_renamed = made.way == Way::Merged && !s0.contains_key(path);
                if s0.get(path) == head.get(path) && !may_be_renamed {
                    assert_eq!(landed.get(path), s1.get(path), "{path} in the commit");
                }
            }
            let i1 = index(stage);
            for path in difference(&i0, &i1) {
                let lands = landed.get(&path) != head.get(&path);
                assert!(expected.contains(&path) || lands, "{path} was staged otherwise");
            }
            let mut untouched: Vec<&String> = i0.keys().collect();
            untouched
                .retain(|path| !expected.contains(path) && head.get(*path) == landed.get(*path));
            for path in untouched {
                assert_eq!(i1.get(path), i0.get(path), "{path} in the index");
            }
        }
        Err(LandError::Nothing) => assert!(expected.is_empty()),
        Err(LandError::Conflict { .. }) => {
            assert_eq!(tree(stage, "HEAD"), head, "a conflict commits nothing");
            stage.roll_back(&cp, &changes);
            assert_eq!((stage.picture(), index(stage)), (before, i0));
        }
        Err(error) => panic!("{error}"),
    }
}

fn check_roll_back(stage: &Stage, user: &[(usize, Act)], backend: &[(usize, Act)]) {
    user.iter().for_each(|act| perform(stage, act));
    let (before, i0, status) = (stage.picture(), index(stage), stage.status());
    let cp = stage.checkpoint();
    backend.iter().for_each(|act| perform(stage, act));
    let s1 = files(stage);
    let changes = stage.collect(&cp);
    let rolled = stage.roll_back(&cp, &changes);
    let mut now = stage.picture();
    // Git removes a folder with its last file, which the model does not know.
    now.retain(|path, _| before.contains_key(path) || !stage.project.path(path).is_dir());
    assert_eq!(now, before);
    assert_eq!((index(stage), stage.status()), (i0, status));
    if let Some(salvage) = rolled.salvage {
        assert_eq!(tree(stage, &salvage.name), s1, "everything is in the salvage");
    }
}

fn config() -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let persistence = FileFailurePersistence::Off;
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn landing_puts_exactly_the_backends_change_on_head(
        user in prop::collection::vec(act(), 0..6),
        backend in prop::collection::vec(act(), 0..5),
    ) {
        check_landing(&start(), &user, &backend);
    }

    #[test]
    fn rolling_back_leaves_everything_as_it_was(
        user in prop::collection::vec(act(), 0..6),
        backend in prop::collection::vec(act(), 0..6),
    ) {
        check_roll_back(&start(), &user, &backend);
    }
}
