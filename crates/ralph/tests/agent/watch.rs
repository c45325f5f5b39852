//! `--watch`: the agent stays and waits for specs.

use crate::lab::lab;
use crate::repo::{says, until};

#[test]
fn a_watching_agent_takes_new_specs_until_a_signal_comes() {
    let lab = lab(&[]);
    for spec in ["a.md", "b.md"] {
        lab.write_spec(spec);
    }
    lab.commit("specs");
    let agent = lab.spawn(["agent", "--watch"]);
    until(|| lab.exists("ralph/.agent-session"));
    for (spec, landed) in [("a.md", 1), ("b.md", 2)] {
        lab.run(["inbox", "add", spec]).ok();
        until(|| lab.completed().len() == landed);
    }
    lab.signal("TERM", agent.pid());
    let run = agent.wait().fails(143);
    says(&run, "Inbox empty. Waiting for specs");
    assert_eq!(lab.statuses(), ["a.md done", "b.md done"]);
}

#[test]
fn a_limit_ends_a_watching_agent_too() {
    let lab = lab(&["a.md"]);
    lab.agent(["--watch", "--max-specs", "1"]).ok();
}
