//! Answers and logs that are longer than anybody reads.

use std::fs;

use crate::plans::task;
use crate::repo::{GATE, Repo, repo, said, says};

const TWENTY_MEGABYTES: &str = "head -c 20971520 /dev/zero | tr '\\0' x";

impl Repo {
    /// The size of the log of the only attempt, and its text.
    fn agent_log(&self) -> String {
        let logs = fs::read_dir(self.path("build/ralph-logs")).unwrap();
        let mut logs = logs.map(|entry| entry.unwrap().path());
        let log = logs.find(|path| path.to_string_lossy().ends_with("-build-1.log")).unwrap();
        fs::read_to_string(log).unwrap()
    }

    /// A program that prints, as the backend.
    fn prints(&self, script: &str) {
        let program = self.home().join("agent.sh");
        fs::write(&program, format!("mkdir -p work; date +%N > work/x.txt\n{script}\n")).unwrap();
        let program = program.display();
        self.config(&format!(
            "backend = \"own\"\nmax_retries = 1\n{GATE}[backends.own]\nkind = \"command\"\n\
             command = [\"sh\", \"{program}\"]\n"
        ));
    }
}

#[test]
fn the_claim_at_the_end_of_an_answer_of_20_megabytes_is_read() {
    let repo = repo(&[task("t-aaa1")]);
    repo.claude(
        &format!(
            "echo '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\",\"tools\":[],\"mcp_servers\":[]}}'\n\
             printf '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":1,\"duration_ms\":1,\"session_id\":\"s\",\"result\":\"'\n\
             {TWENTY_MEGABYTES}\n\
             printf '\\\\n\\\\n<TASK_DONE>\",\"total_cost_usd\":0.01,\"usage\":{{\"input_tokens\":1,\"output_tokens\":1}}}}\\n'"
        ),
        "[limits]\nmax_log = \"4MB\"",
    );
    let run = repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"], "{}", said(&run));
    let log = repo.agent_log();
    assert!(log.len() <= 6 << 20, "{} bytes of log", log.len());
    assert!(log.contains("limits.max_log") && log.contains("\"subtype\":\"init\""));
    assert!(log.trim_end().ends_with("\"output_tokens\":1}}"), "the tail is kept");
}

#[test]
fn a_claim_that_is_not_in_what_is_kept_fails_with_size_and_limit_also_in_the_retry() {
    let repo = repo(&[task("t-aaa1")]);
    repo.prints("echo '<TASK_DONE>'; head -c 3000000 /dev/zero | tr '\\0' x");
    let run = repo.build([]).fails(3);
    let limit = "3000012 bytes";
    says(&run, limit);
    says(&run, "the last 1048576 bytes of an answer");
    let prompt = repo.prompt(2);
    assert!(prompt.contains(limit) && prompt.contains("1048576"), "{prompt}");
}
