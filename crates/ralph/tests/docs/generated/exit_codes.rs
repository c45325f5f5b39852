//! `docs/reference/exit-codes.md`: how a program ends, and with which number.

use ralph_core::cycle::{BreakerTrip, LoopEnd, LoopSignal, exit_code};

use super::{HEAD, holds, row};

const OPENING: &str = "\
# Exit codes

| code | meaning |
| --- | --- |
| 0 | what was asked for is done |
| 1 | something is wrong; the message says what and what to do |
| 2 | the command line is wrong |
| 3 | work is blocked, failed, unproven, or waits for a person |
| 4 | a limit was reached, or somebody stopped the loop: the next start goes on |
| 130 | Ctrl-C |
| 143 | SIGTERM |

Where several hold, 1 goes before 3 and 3 before 4: a loop that meets a limit while commits wait to arrive ends with 3.

A script that runs ralph in CI wants 0. What to do with 3 and 4 is in
[ralph in CI](../how-to/ci.md).

## How a loop ends

`status` is the word in the event `orchestrator_end`. `.ralph/state.json` keeps to the words that its
readers know: `complete`, `blocked` (also for `no_progress` and `false_done`), `max_iterations_reached`,
`interrupted`, and `paused` for every other end.

";

#[test]
fn the_page_of_exit_codes_is_what_the_loops_return() {
    let mut page = format!("{HEAD}{OPENING}");
    page.push_str(&row(&["the loop ends because", "status", "code"]));
    page.push_str("| --- | --- | --- |\n");
    let mut ends: Vec<(u8, String, &str)> =
        ends().iter().map(|(why, end)| (exit_code(end), (*why).to_owned(), end.word())).collect();
    ends.sort_by_key(|(code, ..)| *code);
    for (code, why, word) in ends {
        page.push_str(&row(&[&why, &format!("`{word}`"), &code.to_string()]));
    }
    page.push_str(
        "\n`ralph validate` and `ralph knowledge verify` end with 1 when they find something. \
         `ralph agent` has [a table of its own](../agent.md#what-ends-it).\n",
    );
    holds("docs/reference/exit-codes.md", &page);
}

fn ends() -> Vec<(&'static str, LoopEnd)> {
    let text = String::new;
    vec![
        ("every task is done", LoopEnd::Complete),
        ("it is done, and no gate proves what landed", LoopEnd::Unproven { tasks: Vec::new() }),
        ("it is done, and commits wait to arrive", LoopEnd::Waiting { why: String::new() }),
        ("a gate cannot be run", LoopEnd::Gate { reason: text(), advice: text() }),
        ("the task of `--task` is done", LoopEnd::TaskComplete("t-1".into())),
        ("`--once`: its attempt landed", LoopEnd::OnceLanded),
        ("`--once`: its attempt failed", LoopEnd::OnceFailed),
        ("what is left cannot run", LoopEnd::Blocked { why: Vec::new() }),
        (
            "work is done, and no verifier gave a usable verdict",
            LoopEnd::NotVerified { why: Vec::new() },
        ),
        (
            "nothing moves any more",
            LoopEnd::Breaker(BreakerTrip { reason: text(), evidence: Vec::new() }),
        ),
        ("progress.md says that all is done, and tasks are open", LoopEnd::FalseDone),
        ("no agent made a plan that can be used", LoopEnd::NoPlan { why: text(), log: None }),
        ("a person has to decide", LoopEnd::Paused { reason: text() }),
        ("`max_iterations` are used", LoopEnd::MaxIterations(1)),
        ("`max_cost` is spent", LoopEnd::MaxCost { limit: 1.0, spent: 1.0 }),
        ("a usage limit, with `--no-wait`", LoopEnd::UsageLimit { reason: text() }),
        ("`ralph stop`", LoopEnd::Stopped),
        (
            "the backend is missing or not logged in",
            LoopEnd::Backend { reason: text(), advice: None },
        ),
        ("Ctrl-C", LoopEnd::Interrupted(LoopSignal::Interrupt)),
        ("SIGTERM", LoopEnd::Interrupted(LoopSignal::Terminate)),
    ]
}

/// A new kind of end does not compile here until it is listed above.
#[expect(dead_code, reason = "only the compiler reads it")]
fn all_are_listed(end: &LoopEnd) {
    match end {
        LoopEnd::Complete
        | LoopEnd::Unproven { .. }
        | LoopEnd::Waiting { .. }
        | LoopEnd::Gate { .. }
        | LoopEnd::TaskComplete(_)
        | LoopEnd::OnceLanded
        | LoopEnd::OnceFailed
        | LoopEnd::Blocked { .. }
        | LoopEnd::NotVerified { .. }
        | LoopEnd::Breaker(_)
        | LoopEnd::FalseDone
        | LoopEnd::NoPlan { .. }
        | LoopEnd::Paused { .. }
        | LoopEnd::MaxIterations(_)
        | LoopEnd::MaxCost { .. }
        | LoopEnd::UsageLimit { .. }
        | LoopEnd::Stopped
        | LoopEnd::Backend { .. }
        | LoopEnd::Interrupted(LoopSignal::Interrupt | LoopSignal::Terminate) => {}
    }
}
