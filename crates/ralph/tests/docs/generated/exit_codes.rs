//! `docs/reference/exit-codes.md`: how a program ends, and with which number.

use ralph_core::cycle::{End, Signal, Tripped, exit_code};

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

fn ends() -> Vec<(&'static str, End)> {
    let text = String::new;
    vec![
        ("every task is done", End::Complete),
        ("it is done, and no gate proves what landed", End::Unproven { tasks: Vec::new() }),
        ("it is done, and commits wait to arrive", End::Waiting { why: String::new() }),
        ("a gate cannot be run", End::Gate { reason: text(), advice: text() }),
        ("the task of `--task` is done", End::TaskComplete("t-1".into())),
        ("`--once`: its attempt landed", End::OnceLanded),
        ("`--once`: its attempt failed", End::OnceFailed),
        ("what is left cannot run", End::Blocked { why: Vec::new() }),
        (
            "work is done, and no verifier gave a usable verdict",
            End::NotVerified { why: Vec::new() },
        ),
        ("nothing moves any more", End::Breaker(Tripped { reason: text(), evidence: Vec::new() })),
        ("progress.md says that all is done, and tasks are open", End::FalseDone),
        ("no agent made a plan that can be used", End::NoPlan { why: text(), log: None }),
        ("a person has to decide", End::Paused { reason: text() }),
        ("`max_iterations` are used", End::MaxIterations(1)),
        ("`max_cost` is spent", End::MaxCost { limit: 1.0, spent: 1.0 }),
        ("a usage limit, with `--no-wait`", End::UsageLimit { reason: text() }),
        ("`ralph stop`", End::Stopped),
        ("the backend is missing or not logged in", End::Backend { reason: text(), advice: None }),
        ("Ctrl-C", End::Interrupted(Signal::Interrupt)),
        ("SIGTERM", End::Interrupted(Signal::Terminate)),
    ]
}

/// A new kind of end does not compile here until it is listed above.
#[expect(dead_code, reason = "only the compiler reads it")]
fn all_are_listed(end: &End) {
    match end {
        End::Complete
        | End::Unproven { .. }
        | End::Waiting { .. }
        | End::Gate { .. }
        | End::TaskComplete(_)
        | End::OnceLanded
        | End::OnceFailed
        | End::Blocked { .. }
        | End::NotVerified { .. }
        | End::Breaker(_)
        | End::FalseDone
        | End::NoPlan { .. }
        | End::Paused { .. }
        | End::MaxIterations(_)
        | End::MaxCost { .. }
        | End::UsageLimit { .. }
        | End::Stopped
        | End::Backend { .. }
        | End::Interrupted(Signal::Interrupt | Signal::Terminate) => {}
    }
}
