//! Ralph is killed with SIGKILL, at every point where it changes the world and at random instants, and
//! started again. The end is the same as if nothing had happened.
//!
//! The long mode is in docs/reliability.md: `RALPH_KILLS` is how many kills it does (2000).

use std::time::{Duration, Instant};

use crate::twin::{Result, Tree, Victim, original};

/// Tests that share the points, so that they can run side by side.
const PARTS: usize = 8;

/// Kills with one seed in the long mode.
pub(crate) const EACH: usize = 25;

/// A run that nobody disturbs.
#[track_caller]
pub(crate) fn undisturbed(victim: &Victim) -> (Result, Duration) {
    let twin = victim.copy();
    let began = Instant::now();
    twin.repo.build([]).ok();
    let took = began.elapsed();
    (twin.result("undisturbed", 0), took)
}

/// Kill at every `PARTS`-th point, beginning with `part`, until the run ends before it is killed.
fn at_every_point(tree: Tree, part: usize) {
    let victim = original(tree);
    let (expected, _) = undisturbed(&victim);
    let mut kills = 0;
    for point in (part + 1..).step_by(PARTS) {
        let twin = victim.copy();
        let what = format!("killed at point {point} ({tree:?})");
        let run = twin.repo.command(["build"]).env("RALPH_CRASH_POINT", point.to_string()).run();
        if run.code != 137 {
            assert_eq!(run.code, 0, "{what}: {}", crate::repo::said(&run));
            break;
        }
        kills += 1;
        twin.restart(&what);
        twin.result(&what, 1).is(&expected, &what);
    }
    println!("{kills} kill points, part {part} of {PARTS}, {tree:?}");
    assert!(kills * PARTS >= 100, "only {kills} points: the points are gone");
}

/// Kill from outside after a time that a seed decides, restart, and sometimes kill the restart too.
fn at_random_instants(tree: Tree, seed: u64, kills: usize) {
    let victim = original(tree);
    let (expected, took) = undisturbed(&victim);
    let mut chance = Chance(seed);
    let mut killed = 0;
    while killed < kills {
        let twin = victim.copy();
        let mut times = Vec::new();
        for _ in 0..=chance.below(3) {
            let wait = Duration::from_micros(chance.below(took.as_micros() as u64 * 11 / 10 + 1));
            let run = twin.repo.spawn(["build"]);
            std::thread::sleep(wait);
            times.push(wait);
            let code = run.kill().code;
            killed += usize::from(code == 137);
            assert!([0, 137].contains(&code), "seed {seed}, {times:?}: exit code {code}");
        }
        let what = format!("seed {seed}, killed after {times:?} ({tree:?})");
        twin.restart(&what);
        twin.result(&what, times.len()).is(&expected, &what);
    }
}

/// Chance that can be had again.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

macro_rules! parts {
    ($($(#[$long:meta])? $name:ident $tree:ident $part:literal;)*) => {$(
        #[test]
        $(#[$long])?
        fn $name() {
            at_every_point(Tree::$tree, $part);
        }
    )*};
}

parts! {
    killed_at_every_point_1_of_8 Clean 0;
    killed_at_every_point_2_of_8 Clean 1;
    killed_at_every_point_3_of_8 Clean 2;
    killed_at_every_point_4_of_8 Clean 3;
    killed_at_every_point_5_of_8 Clean 4;
    killed_at_every_point_6_of_8 Clean 5;
    killed_at_every_point_7_of_8 Clean 6;
    killed_at_every_point_8_of_8 Clean 7;
    killed_at_every_point_beside_dirt_1_of_8 Dirty 0;
    killed_at_every_point_beside_dirt_3_of_8 Dirty 2;
    killed_at_every_point_beside_dirt_5_of_8 Dirty 4;
    killed_at_every_point_beside_dirt_7_of_8 Dirty 6;
    #[ignore = "long: docs/reliability.md"] killed_at_every_point_beside_dirt_2_of_8 Dirty 1;
    #[ignore = "long: docs/reliability.md"] killed_at_every_point_beside_dirt_4_of_8 Dirty 3;
    #[ignore = "long: docs/reliability.md"] killed_at_every_point_beside_dirt_6_of_8 Dirty 5;
    #[ignore = "long: docs/reliability.md"] killed_at_every_point_beside_dirt_8_of_8 Dirty 7;
}

#[test]
fn killed_at_random_instants() {
    at_random_instants(Tree::Clean, 1, 10);
}

#[test]
fn killed_at_random_instants_beside_dirt() {
    at_random_instants(Tree::Dirty, 2, 10);
}

/// Kills of the long mode.
pub(crate) fn long_kills() -> usize {
    std::env::var("RALPH_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000)
}

#[test]
#[ignore = "long: docs/reliability.md"]
fn killed_at_random_instants_for_long() {
    // Many seeds, so that what is found can be had again quickly.
    let seeds = long_kills() / EACH;
    std::thread::scope(|scope| {
        for tree in [Tree::Clean, Tree::Dirty] {
            scope.spawn(move || {
                for seed in 0..seeds as u64 / 2 {
                    at_random_instants(tree, 1000 + seed, EACH);
                    eprintln!("{tree:?}: {} kills", (seed as usize + 1) * EACH);
                }
            });
        }
    });
}
