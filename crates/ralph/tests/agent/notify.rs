//! Whoever wants to hear of it is told by the running agent; nobody who cannot be told stops the work.

use serde_json::Value;

use crate::lab::{Lab, coder, hopeless, lab, planned};
use crate::repo::{GATE, said, says};

/// Every notification, as a command got it on its standard input.
fn told(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.home().join("told")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events(lab: &Lab) -> Vec<String> {
    told(lab).iter().map(|one| one["event"].as_str().unwrap().to_owned()).collect()
}

const TELL: &str = r#"
[[notify]]
kind = "command"
command = "cat >> \"$HOME/told\""
"#;

/// An agent with these tables in its configuration.
fn with(tables: &str, specs: &[&str]) -> Lab {
    let lab = lab(specs);
    lab.config(&format!("backend = \"sim\"\n{GATE}\n{tables}"));
    lab
}

fn listening(specs: &[&str]) -> Lab {
    with(TELL, specs)
}

#[test]
fn a_command_hears_of_a_spec_that_is_done_one_that_failed_and_the_end() {
    let lab = listening(&["a.md", "b.md"]);
    lab.agents(&hopeless("a.md"));
    lab.agent([]).fails(3);
    assert_eq!(events(&lab), ["failed", "done", "stopped"]);
    let all = told(&lab);
    assert_eq!((&all[0]["spec"], &all[1]["spec"]), (&"a.md".into(), &"b.md".into()));
    assert!(all[0].to_string().contains("there is no key"), "{}", all[0]);
    assert!(all[1].to_string().contains(&lab.head()), "{}", all[1]);
}

#[test]
fn a_command_hears_of_a_backend_that_needs_a_person_and_of_a_limit() {
    let lab = listening(&["a.md"]);
    let sad = r#"{ fail = "not_logged_in" }"#;
    lab.agents(&(planned("a.md", "Sad") + &coder("when = \"Sad\"\nattempt = 1", sad)));
    lab.agent([]);
    assert_eq!(events(&lab), ["blocked", "stopped"]);

    let lab = listening(&["a.md"]);
    let limited = r#"{ fail = "rate_limit", resets_in = "2h", message = "Enough." }"#;
    lab.agents(&coder("attempt = 1", limited));
    lab.agent(["--no-wait"]).fails(4);
    assert_eq!(events(&lab), ["limit", "stopped"]);
}

#[test]
fn a_notification_that_fails_is_a_warning_and_stops_no_work() {
    let lab = with(
        "[[notify]]\nkind = \"command\"\ncommand = \"exit 9\"\non = [\"done\"]\n\
         [[notify]]\nkind = \"webhook\"\nurl_env = \"HOOK\"\non = [\"done\"]\n",
        &["a.md"],
    );
    let lab = lab.env("HOOK", "http://127.0.0.1:9/s3cr3t-path");
    let run = lab.agent([]).ok();
    says(&run, "a notification was not delivered: ");
    assert_eq!(said(&run).matches("was not delivered").count(), 2, "{}", said(&run));
    assert_eq!(lab.statuses(), ["a.md done"]);
}

#[test]
fn the_address_of_a_receiver_reaches_no_backend_no_gate_and_no_log() {
    let tables = r#"
[[gates]]
name = "env"
command = "env > \"$HOME/gate-env\""
[[notify]]
kind = "webhook"
url_env = "HOOK"
"#;
    let lab = with(tables, &["a.md"]);
    let look = r#"{ run = "env > \"$HOME/backend-env\"" }"#;
    lab.agents(&coder("", &format!("{look}, {}", crate::lab::GOOD)));
    let lab = lab.env("HOOK", "http://127.0.0.1:9/s3cr3t-path");
    let run = lab.agent([]).ok();
    assert!(!said(&run).contains("s3cr3t"), "{}", said(&run));
    for file in ["backend-env", "gate-env"] {
        let env = std::fs::read_to_string(lab.home().join(file)).unwrap();
        assert!(env.contains("HOME=") && !env.contains("s3cr3t"), "{file}: {env}");
    }
    let logs = lab.shell("grep -rl s3cr3t . || true").ok();
    assert_eq!(said(&logs).trim(), "");
}
