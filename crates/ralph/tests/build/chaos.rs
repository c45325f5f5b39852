//! Faults by chance. Whatever the backend does, the run ends, what is called done is done, and what
//! landed stays.
//!
//! `RALPH_CHAOS_SEEDS` is how many seeds the long mode tries (200); docs/reliability.md has the command.

use std::fs;
use std::time::{Duration, Instant};

use crate::dirt;
use crate::plans::{Format, task};
use crate::repo::{Repo, repo_with, said};

/// Longest time of one run. Nothing here waits for more than its time limit of two seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// Every fault that the sim has, each a little. Endless ones are ended by the time limit.
const RATES: &str = "lie = 0.06, nothing = 0.05, not_complete = 0.03, crash = 0.07, abort = 0.04, \
    early_exit = 0.05, hang = 0.02, stubborn = 0.02, orphans = 0.04, hold_stdout = 0.03, garbage = 0.04, \
    cut = 0.04, api_error = 0.03, context_full = 0.02, max_turns = 0.02, wrong_json = 0.04, \
    edit_tests = 0.03, delete_tests = 0.03, write_ledger = 0.03, delete_ledger = 0.03, git_commit = 0.04, \
    git_stash = 0.03, git_branch = 0.03, git_checkout = 0.03, odd_names = 0.03";

const IDS: [&str; 6] = ["t-aa01", "t-aa02", "t-aa03", "t-aa04", "t-aa05", "t-aa06"];

/// Each task appends to one shared file and makes one of its own, so lost work shows.
fn script(seed: u64) -> String {
    format!(
        "[chaos]\nseed = {seed}\nattempts = 2\nrates = {{ {RATES} }}\n\
         [[rule]]\nwhen = \"## Current Task\"\nsteps = [\n\
         {{ run = \"echo {{task}} >> \\\"$HOME/runs\\\"\" }},\n\
         {{ append = \"src/shared.txt\", text = \"{{task}}\\n\" }},\n\
         {{ write = \"work/{{task}}.txt\", text = \"first half\\n\" }},\n\
         {{ append = \"work/{{task}}.txt\", text = \"second half\\n\" }},\n\
         {{ claim = \"done\" }},\n]\n"
    )
}

/// The gate can tell half of a task's work from all of it, but not whether it is there at all.
const GATE: &str = r#"
[[gates]]
name = "test"
kind = "test"
command = '''
for f in work/*.txt; do
    [ -e "$f" ] || continue
    [ "$(wc -l < "$f")" = 2 ] && grep -qx "$(basename "$f" .txt)" src/shared.txt && continue
    echo "half: $f"
    exit 1
done
sh tests/all_test.sh
'''
"#;

fn chaotic(seed: u64) -> Repo {
    let repo = repo_with(Format::Jsonl, &IDS.map(task));
    repo.write("tests/all_test.sh", "[ -f src/main.c ] && [ -f src/shared.txt ]\n");
    repo.write("src/shared.txt", "");
    repo.config(&format!(
        "backend = \"sim\"\njudges = \"block\"\n[limits]\nstage_timeout = \"2s\"\n{GATE}"
    ));
    repo.script(&script(seed));
    repo
}

fn survives(seed: u64) {
    let repo = chaotic(seed);
    let dirt = (seed % 2 == 1).then(|| dirt::make(&repo));
    let start = repo.head();
    let began = Instant::now();
    // The breaker may well trip: then a person would start it again.
    let mut runs = 0;
    let last = loop {
        let run = repo.build(["--max-iterations", "100"]);
        assert!([0, 3].contains(&run.code), "seed {seed}: exit code {}\n{}", run.code, said(&run));
        assert!(began.elapsed() < PATIENCE, "seed {seed} takes too long\n{}", said(&run));
        runs += 1;
        if run.code == 0 || runs == 6 || !said(&run).contains("no progress") {
            break run;
        }
    };
    crate::processes::none_is_left(repo.home());
    oracle(&repo, seed, &said(&last));
    if let Some(dirt) = dirt {
        assert_eq!(dirt::look(&repo), dirt, "seed {seed}: the user's work changed");
        dirt.is_untouched(&repo, &start);
    }
}

/// What the gates do not know: whether a task that is called done really is.
#[track_caller]
fn oracle(repo: &Repo, seed: u64, said: &str) {
    let shared = repo.ask_git(["show", "HEAD:src/shared.txt"]);
    let landed = repo.landed();
    for id in IDS {
        let own = repo.git(["show", &format!("HEAD:work/{id}.txt")]);
        let whole = own.stdout == "first half\nsecond half\n";
        let times = shared.lines().filter(|line| *line == id).count();
        if repo.is_done(id) {
            assert!(whole, "seed {seed}: {id} is called done and is not\n{said}");
            assert!(times >= 1, "seed {seed}: work of {id} was lost\n{shared}\n{said}");
            assert!(landed.iter().any(|l| l == id), "seed {seed}: {id} has no commit\n{said}");
        } else if !landed.iter().any(|l| l == id) {
            assert_eq!(times, 0, "seed {seed}: debris of {id} landed\n{shared}\n{said}");
            assert!(own.code != 0, "seed {seed}: debris of {id} landed");
        }
    }
    assert_eq!(
        repo.read("tests/all_test.sh"),
        "[ -f src/main.c ] && [ -f src/shared.txt ]\n",
        "seed {seed}"
    );
    let tree = repo.ask_git(["status", "--porcelain", "-uall", "--", "src", "work", "tests"]);
    assert_eq!(tree, "", "seed {seed}: something was left in the tree\n{said}");
    let branch = fs::read_to_string(repo.git_dir().join("HEAD")).unwrap();
    assert_eq!(branch, "ref: refs/heads/main\n", "seed {seed}");
}

macro_rules! seeds {
    ($($name:ident $from:literal;)*) => {$(
        #[test]
        fn $name() {
            ($from..$from + 5).for_each(survives);
        }
    )*};
}

seeds! {
    chaos_of_seeds_0_to_4 0;
    chaos_of_seeds_5_to_9 5;
    chaos_of_seeds_10_to_14 10;
    chaos_of_seeds_15_to_19 15;
}

#[test]
#[ignore = "long: docs/reliability.md has the command"]
fn chaos_for_long() {
    let seeds: u64 =
        std::env::var("RALPH_CHAOS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    (100..100 + seeds).for_each(survives);
}
