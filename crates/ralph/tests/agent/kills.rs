//! An agent with five specs is killed with SIGKILL again and again, at random instants, and started
//! again until it is done.
//!
//! The long mode is in docs/reliability.md: `RALPH_KILLS` is how many kills it does.

use std::time::Duration;

use crate::lab::{Lab, PLAN, TWO_TASKS, coder, lab_in_memory, rule};
use crate::repo::said;

const SPECS: [&str; 5] = ["a.md", "b.md", "c.md", "d.md", "e.md"];

/// Chance that can be had again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// Five specs: most have two tasks, one fails by itself, one makes a mess at first.
fn victim() -> Lab {
    let lab = lab_in_memory(&SPECS);
    let mess =
        r#"{ half = "src/main.c", text = "int main(void) { return 1; }\n" }, { signal = "kill" }"#;
    lab.agents(
        &(crate::failures::half_way("c.md")
            + &crate::lab::planned("d.md", "Messy")
            + &coder("when = \"Messy\"\nattempt = 1", mess)
            + &rule(&[PLAN], "", TWO_TASKS)),
    );
    lab
}

/// Kill until it has happened so often in this repository, then let it end.
fn killed(seed: u64, kills: usize) -> usize {
    let lab = victim();
    let before = crate::dirt::make(&lab);
    let head = lab.head();
    let mut chance = Chance(seed);
    let (mut done, mut times) = (0, Vec::new());
    while done < kills {
        let wait = Duration::from_millis(20 + chance.below(900));
        let agent = lab.spawn(["agent", "--max-failures", "100"]);
        std::thread::sleep(wait);
        times.push(wait);
        let run = agent.kill();
        if run.code != 137 {
            assert!([0, 3].contains(&run.code), "seed {seed}, {times:?}: {}", said(&run));
            break;
        }
        done += 1;
    }
    let what = format!("seed {seed}, killed after {times:?}");
    let run = lab.agent(["--max-failures", "100"]);
    assert!([0, 3].contains(&run.code), "{what}: {}", said(&run));
    for (spec, status) in SPECS.iter().zip(lab.statuses()) {
        let over = [format!("{spec} done"), format!("{spec} failed")];
        assert!(over.contains(&status), "{what}: {status}");
        let name = spec.trim_end_matches(".md");
        let commits =
            lab.completed().iter().filter(|s| **s == format!("ralph: complete {name}")).count();
        let stashes =
            lab.stashes().iter().filter(|s| **s == format!("ralph: failed {name}")).count();
        match status.ends_with("done") {
            true => assert_eq!((commits, stashes), (1, 0), "{what}: {spec}"),
            // A spec may fail before anything of it has landed.
            false => assert!(commits == 0 && stashes <= 1, "{what}: {spec}: {commits}, {stashes}"),
        }
    }
    assert_eq!(lab.entry("c.md")["status"], "failed", "{what}");
    assert!(!lab.exists("ralph/.agent-session"), "{what}");
    before.is_untouched(&lab, &head);
    let left = lab.ask_git(["status", "--porcelain", "--", ".", ":!user", ":!ignored"]);
    assert_eq!(left, "", "{what}");
    let refs = lab.ask_git(["for-each-ref", "--format=%(refname)", "refs/ralph/**/spec"]);
    assert_eq!(refs, "", "{what}");
    done
}

/// So many kills, in as many repositories as it takes.
fn kills(seed: u64, wanted: usize) {
    let (mut all, mut seed) = (0, seed);
    while all < wanted {
        all += killed(seed, 12);
        seed += 1;
    }
    println!("{all} kills up to seed {seed}");
}

#[test]
fn killed_at_random_every_spec_ends_exactly_once_1_of_2() {
    kills(1, 50);
}

#[test]
fn killed_at_random_every_spec_ends_exactly_once_2_of_2() {
    kills(1000, 50);
}

#[test]
#[ignore = "long: docs/reliability.md"]
fn killed_at_random_for_long() {
    let wanted = std::env::var("RALPH_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    kills(100_000, wanted);
}

#[test]
fn what_a_killed_agent_left_is_recovered_by_the_agent() {
    let lab = crate::lab::lab(&["a.md"]);
    lab.agents(&crate::lab::hangs_once("a.md"));
    let agent = lab.spawn(["agent"]);
    lab.until_home_has("began");
    agent.kill();
    let next = "`ralph agent` keeps what it left aside, and tries again";
    lab.run(["recover"]).ok().stdout_has(next);
    assert_eq!(lab.run(["recover", "--json"]).ok().json()["open"]["next"], next);
}
