//! Three tasks in each memory mode: what the model was sent, and by whom.

use serde_json::{Value, json};

use super::at_home;
use crate::lab::Lab;

const TASKS: [&str; 3] = ["t-aaa1", "t-aaa2", "t-aaa3"];

const INDEXER: &str = "You keep the knowledge index";
const PUT_AWAY: &str = "An iteration of a coding agent has ended";

const INDEX: &str = "mkdir -p .ralph && cat > .ralph/knowledge-index.md <<'END'
# Knowledge Index
Last updated: iteration 1 (2026-01-17)

## Constraints
- [K-constraint-cache] Must warm the cache before parsing [source: iter 1]
END
cat > .ralph/knowledge-index.json <<'END'
[{\"iteration\": 1, \"task\": \"t-aaa1\", \"summary\": \"cache\", \"tags\": [], \"memory_id\": [\"K-constraint-cache\"]}]
END";

/// The words by which the prompt of a coding agent for a task is known.
fn coding(task: &str) -> String {
    format!("Task `{task}`: ")
}

/// The words by which the manifest of a preparation for a task is known.
fn preparing(task: &str) -> String {
    format!("- id: `{task}`")
}

fn rules() -> String {
    let mut rules = vec![
        json!({"has": INDEXER, "steps": [{"shell": INDEX}, {"answer": {"summary": "indexed"}}]}),
        json!({"has": PUT_AWAY, "steps": [{"shell": INDEX}, {"answer": {"action": "proceed", "reason": "all is well"}}]}),
    ];
    for task in TASKS {
        let prompt = format!(
            "mkdir -p .ralph/context && cat > .ralph/context/prepared-prompt.md <<'END'\n\
             ## Current Task\n\nPREPARED FOR {task}\n\n## Retrieved Memory\n\nnone\n\n\
             ## Previous Handoff\n\nnone\n\n## Output Instructions\n\nEnd with a handoff.\nEND"
        );
        rules.push(json!({"has": preparing(task), "steps": [
            {"shell": prompt}, {"answer": {"action": "proceed", "reason": "ready"}}]}));
    }
    for task in TASKS {
        let file = format!("{task}.txt");
        rules.push(json!({"has": coding(task), "steps": [
            {"text": "I write it.", "write": {"path": file, "content": "made\n"}},
            {"answer": {
                "task_completed": {"task_id": task, "summary": "done", "fully_complete": true},
                "deviations": [], "bugs_encountered": [], "architectural_notes": [],
                "unfinished_business": [], "recommendations": [],
                "files_touched": [{"path": file, "action": "created"}], "plan_amendments": [],
                "tests_added": [], "constraints_discovered": [], "summary": "done",
                "freeform": format!("STORY OF {task}: the file was not there, so it was written, and nothing is left.")}}]}));
    }
    json!({ "rules": rules }).to_string()
}

/// A run over all three tasks.
#[track_caller]
fn build(mode: &str) -> Lab {
    let lab = at_home(Lab::with("claude", &rules()));
    let project = &lab.project;
    let more = "[memory]\nnovelty_overlap_threshold = 0.0\ncompaction_interval = 1\n\
        [[gates]]\nname = \"made\"\ncommand = \"ls t-aaa*.txt\"\n";
    let config = format!("mode = \"{mode}\"\n{}{more}", project.read("ralph.toml"));
    project.write("ralph.toml", config);
    project.write(".gitignore", ".ralph/\nbuild/\n");
    let tasks = TASKS.map(|id| json!({"t": "task", "id": id, "name": "Make a file", "s": "p"}));
    let plan: String = tasks.iter().map(|task| format!("{task}\n")).collect();
    project.write("ralph/plan.jsonl", plan);
    project.git(["add", "-A"]).ok();
    project.git(["commit", "--quiet", "-m", "start"]).ok();
    let run = project.run(["build", "--backend", "claude"]).ok();
    assert!(lab.left().is_empty(), "{}", run.stdout);
    for task in TASKS {
        assert_eq!(project.read(format!("{task}.txt")), "made\n", "{}", run.stdout);
    }
    lab
}

/// The first call of each conversation whose prompt has these words in it.
fn calls(lab: &Lab, words: &str) -> Vec<Value> {
    let requests = lab.server.requests();
    let asked = requests.into_iter().filter(|r| r.rule.as_deref() == Some(words) && r.step == 0);
    let with_tools = asked.filter(|r| r.body["tools"].as_array().is_some_and(|t| !t.is_empty()));
    with_tools.map(|request| request.body).collect()
}

/// The one call of the coding agent for a task, as text.
#[track_caller]
fn coded(lab: &Lab, task: &str) -> String {
    let found = calls(lab, &coding(task));
    assert_eq!(found.len(), 1, "{task} was worked on once");
    let tools = found[0]["tools"].to_string();
    assert!(!tools.contains("mcp__"), "a coding agent has no servers: {tools}");
    found[0]["messages"].to_string()
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn handoff_only_sends_the_previous_handoff_with_the_next_task() {
    let lab = build("handoff-only");
    let first = coded(&lab, "t-aaa1");
    assert!(!first.contains("STORY OF"), "{first}");
    for (task, before) in [("t-aaa2", "t-aaa1"), ("t-aaa3", "t-aaa2")] {
        let sent = coded(&lab, task);
        assert!(sent.contains(&format!("STORY OF {before}")), "{sent}");
        assert_eq!(sent.matches("STORY OF").count(), 1, "{sent}");
        assert!(!sent.contains("Retrieved Project Memory"), "{sent}");
    }
    assert!(calls(&lab, INDEXER).is_empty());
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn handoff_plus_index_sends_the_index_with_every_task_after_the_indexer() {
    let lab = build("handoff-plus-index");
    let first = coded(&lab, "t-aaa1");
    assert!(!first.contains("warm the cache"), "{first}");
    for (task, before) in [("t-aaa2", "t-aaa1"), ("t-aaa3", "t-aaa2")] {
        let sent = coded(&lab, task);
        assert!(sent.contains("## Retrieved Project Memory"), "{sent}");
        assert!(sent.contains("Must warm the cache before parsing"), "{sent}");
        assert!(sent.contains(&format!("STORY OF {before}")), "{sent}");
    }
    let indexed = calls(&lab, INDEXER);
    assert_eq!(indexed.len(), 2, "before the second and the third task");
    let prompt = indexed[0]["messages"].to_string();
    assert!(prompt.contains("t-aaa1") && prompt.contains("handoff-001.json"), "{prompt}");
    assert!(lab.project.read(".ralph/knowledge-index.md").contains("K-constraint-cache"));
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn agent_orchestrated_sends_the_prepared_prompt_and_puts_every_attempt_away() {
    let lab = build("agent-orchestrated");
    for task in TASKS {
        let sent = coded(&lab, task);
        assert!(sent.contains(&format!("PREPARED FOR {task}")), "{sent}");
        assert!(sent.contains("### Gates"), "the conditions are ralph's own: {sent}");
        assert!(!sent.contains("STORY OF"), "only what was prepared: {sent}");
        assert_eq!(calls(&lab, &preparing(task)).len(), 1, "{task} was prepared once");
    }
    let manifest = calls(&lab, &preparing("t-aaa2"))[0]["messages"].to_string();
    assert!(manifest.contains("handoff-001.json") && !manifest.contains("STORY OF"), "{manifest}");
    assert!(manifest.contains("knowledge-index.md"), "{manifest}");
    let away = calls(&lab, PUT_AWAY);
    assert_eq!(away.len(), 3);
    assert!(away[2]["messages"].to_string().contains("handoff-003.json"));
}
