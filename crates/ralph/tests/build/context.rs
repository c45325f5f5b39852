//! A context that fills up: warned about, compacted, and told in the logs.

use crate::plans::task;
use crate::repo::{GATE, GOOD, Repo, repo, rule};

impl Repo {
    /// What the event stream says about contexts.
    fn context_events(&self) -> Vec<String> {
        let told = self.events("context");
        told.iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
    }

    /// A program that stands in for claude.
    pub(crate) fn claude(&self, script: &str, settings: &str) {
        let program = self.home().join("claude");
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '2.1.0 (Claude Code)'; exit 0; fi\n\
             cat > /dev/null\nmkdir -p work; echo x > work/x.txt\n{script}\n"
        );
        std::fs::write(&program, text).unwrap();
        self.shell(&format!("chmod +x {}", program.display())).ok();
        self.config(&format!(
            "backend = \"claude\"\n{GATE}[backends.claude]\nprogram = {program:?}\n{settings}\n"
        ));
    }
}

/// What was done before, what failed in it, and what the compaction said when it failed.
fn full(compact: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    let takes_over = "when = ['=== COMPACTED CONTEXT ===', 'Next step: I keep the table sorted.', \
                      '- work/a.txt', '- I keep the table sorted.']";
    let fills = r#"{ say = "I keep the table sorted." }, { write = "work/a.txt", text = "a\n" },
        { context = [30, 75, 87] }, { hang = true }"#;
    repo.script(
        &(rule("when = '/compact'", compact)
            + &rule(takes_over, GOOD)
            + &rule("when = '=== COMPACTED CONTEXT ==='", r#"{ claim = "blocked" }"#)
            + &rule("", fills)),
    );
    repo
}

#[test]
fn a_compaction_that_fails_is_told_as_such_and_its_error_is_no_next_step() {
    let error = r#"{ say = "API Error: Overloaded" }, { compaction_fails = "too little" }"#;
    let repo = full(error);
    let run = repo.build(["-q"]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"], "{}", crate::repo::said(&run));
    let told = repo.context_events();
    assert_eq!(
        told,
        [
            "[RALPH] Context pressure: 75% - consider wrapping up",
            "[RALPH] Context is full: it is to be compacted",
            "[RALPH] Context not compacted: too little; a new session goes on from a digest",
        ]
    );
    let log = repo.read(".ralph/logs/ralph.log");
    assert!(told.iter().all(|line| log.contains(line)), "{log}");
}

#[test]
fn a_compaction_that_works_is_in_the_logs_with_what_it_was_good_for() {
    let repo = full("{ compact = [87, 20] }");
    repo.script(
        &(rule("when = '/compact'", "{ compact = [87, 20] }")
            + &rule("when = 'Your context was compacted'", GOOD)
            + &rule("", "{ context = [87] }, { hang = true }")),
    );
    repo.build(["-q"]).ok();
    let told = repo.context_events();
    assert!(told.contains(&"[RALPH] Context compacted: 87% -> 20%".to_owned()), "{told:?}");
    assert!(repo.read(".ralph/logs/ralph.log").contains("Context compacted: 87% -> 20%"));
}

/// It tells its window at the end alone, as claude does.
const LATE_WINDOW: &str = r#"
printf '%s\n' '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5","tools":[],"mcp_servers":[]}'
printf '%s\n' '{"type":"assistant","message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Working."}],"usage":{"input_tokens":150000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}'
printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":1,"session_id":"s","result":"done\n\n<TASK_DONE>","total_cost_usd":0.01,"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{"claude-sonnet-4-5":{"contextWindow":200000}}}'
"#;

#[test]
fn the_first_run_of_a_known_model_is_guarded_although_it_tells_its_window_at_the_end() {
    let repo = repo(&[task("t-aaa1")]);
    repo.claude(LATE_WINDOW, "");
    repo.build(["-q"]).ok();
    assert_eq!(repo.context_events(), ["[RALPH] Context pressure: 75% - consider wrapping up"]);
}

#[test]
fn the_window_of_a_model_can_be_configured() {
    let repo = repo(&[task("t-aaa1")]);
    repo.claude(LATE_WINDOW, "context_window = 1000000");
    repo.build(["-q"]).ok();
    assert_eq!(repo.context_events(), Vec::<String>::new());
}
