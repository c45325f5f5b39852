//! Ralph, its supervisor and a git that works for them are killed with SIGKILL, one of them or several in
//! the same moment: before a call of git, in the middle of it, and after it. The next start ends as if
//! nothing had happened.
//!
//! The long mode is in docs/reliability.md: `RALPH_KILLS` is how many kills it does (2000).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::crash::{Chance, EACH, long_kills, undisturbed};
use crate::repo::said;
use crate::twin::{Tree, Victim, original};

/// Which calls of git count.
#[derive(Clone, Copy, Debug)]
enum Calls {
    All,
    /// Fast-forwards of home.
    Arrivals,
}

/// Those that are killed, as the script below calls them.
const VICTIMS: [&str; 6] = [
    "$git",
    "$supervisor",
    "$supervisor $git",
    "$ralph $git",
    "$ralph $supervisor",
    "$ralph $supervisor $git",
];

/// Longest time that a call runs before it is killed, in turns of a loop of the shell.
const MOST_TURNS: u64 = 6000;

/// A kill at one call of git.
#[derive(Debug)]
struct Kill {
    calls: Calls,
    number: u64,
    victims: &'static str,
    moment: String,
}

impl Kill {
    fn by(chance: &mut Chance, calls: Calls, most: u64) -> Self {
        let victims = VICTIMS[chance.below(VICTIMS.len() as u64) as usize];
        let kill = format!("kill -9 {}", victims.replace("$git", "$pid"));
        let moment = match chance.below(4) {
            0 => format!("pid=$$; {kill}; exec \"$real\" \"$@\""),
            1 => format!("\"$real\" \"$@\"; code=$?; pid=$$; {kill}; exit $code"),
            _ => {
                let turns = chance.below(MOST_TURNS);
                format!(
                    "exec 3<&0; \"$real\" \"$@\" <&3 & pid=$!; i=0; while [ $i -lt {turns} ]; do i=$((i + 1)); done; {kill}; wait $pid; exit"
                )
            }
        };
        Self { calls, number: 1 + chance.below(most), victims, moment }
    }

    /// Let a run of ralph meet this. `false` when it ended before.
    fn strike(&self, twin: &Victim, what: &str) -> bool {
        let run = twin.repo.command(["build"]).env("PATH", self.path(twin)).run();
        assert!([0, 1, 3, 137].contains(&run.code), "{what}: {}", said(&run));
        assert!(!run.stderr.contains("panicked"), "{what}: {}", said(&run));
        let was_hit = calls_of(twin) >= self.number;
        if was_hit && self.victims.contains("$ralph") {
            assert_eq!(run.code, 137, "{what}: {}", said(&run));
        }
        was_hit
    }

    /// A search path with a `git` that does this kill.
    fn path(&self, twin: &Victim) -> String {
        let folder = twin.repo.home().join("bin");
        let _not_there = fs::remove_file(folder.join("calls"));
        let word = match self.calls {
            Calls::All => "",
            Calls::Arrivals => " --ff-only ",
        };
        let lines = [
            "#!/bin/sh".to_owned(),
            format!("real={}", twin.repo.shell("command -v git").ok().stdout.trim()),
            format!("case \" $* \" in *'{word}'*) ;; *) exec \"$real\" \"$@\";; esac"),
            format!("calls={}/calls", folder.display()),
            "n=0; [ -e \"$calls\" ] && read -r n <\"$calls\"; echo $((n + 1)) >\"$calls\""
                .to_owned(),
            format!("[ $n = {} ] || exec \"$real\" \"$@\"", self.number - 1),
            "supervisor=$PPID; git=; read -r stat </proc/$supervisor/stat".to_owned(),
            "parent() { echo \"$2\"; }; ralph=$(parent ${stat##*) })".to_owned(),
            self.moment.clone(),
        ];
        twin.repo.write(folder.join("git"), lines.join("\n") + "\n");
        fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
    }
}

/// How many calls the script above has counted.
fn calls_of(twin: &Victim) -> u64 {
    let calls = fs::read_to_string(twin.repo.home().join("bin/calls")).unwrap_or_default();
    calls.trim().parse().unwrap_or(0)
}

/// Kill, sometimes the next start too, and let it come to its end.
fn at_calls_of_git(tree: Tree, calls: Calls, seed: u64, kills: usize) {
    let victim = original(tree);
    let (expected, _) = undisturbed(&victim);
    let count = Kill { calls, number: 1, victims: "", moment: "exec \"$real\" \"$@\"".into() };
    let twin = victim.copy();
    count.strike(&twin, "nobody is killed");
    let most = calls_of(&twin);
    let mut chance = Chance(seed);
    let mut killed = 0;
    while killed < kills {
        let twin = victim.copy();
        let mut done = Vec::new();
        for _ in 0..=chance.below(2) {
            let kill = Kill::by(&mut chance, calls, most);
            let what = format!("seed {seed}, {done:?}, {kill:?} ({tree:?})");
            killed += usize::from(kill.strike(&twin, &what));
            done.push(kill);
        }
        let what = format!("seed {seed}, {done:?} ({tree:?})");
        twin.restart(&what);
        twin.result(&what, done.len()).is(&expected, &what);
        let locks = twin.repo.shell("find .git -name '*.lock' | grep -v '^.git/ralph/'").stdout;
        assert_eq!(locks, "", "{what}: no lock is left");
    }
    eprintln!("{killed} kills at {calls:?} of {most} calls of git, {tree:?}");
}

#[test]
fn killed_at_arrivals_with_supervisor_and_git_beside_dirt() {
    at_calls_of_git(Tree::Dirty, Calls::Arrivals, 1, 6);
}

#[test]
fn killed_at_calls_of_git_with_supervisor_and_git_beside_dirt() {
    at_calls_of_git(Tree::Dirty, Calls::All, 2, 12);
}

#[test]
#[ignore = "long: docs/reliability.md"]
fn killed_at_calls_of_git_for_long() {
    std::thread::scope(|scope| {
        for calls in [Calls::All, Calls::Arrivals] {
            scope.spawn(move || {
                for seed in 0..(long_kills() / EACH) as u64 / 2 {
                    at_calls_of_git(Tree::Dirty, calls, 1000 + seed, EACH);
                }
            });
        }
    });
}
