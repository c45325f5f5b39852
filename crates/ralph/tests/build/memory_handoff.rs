//! Handoffs: what an attempt leaves reaches the next prompt, whatever it looks like.

use crate::memory::{GOOD_PROMPT, hands_over, has, in_mode, section};
use crate::plans::{Format, task};
use crate::repo::{GATE, GOOD, Repo, repo, repo_with, rule, says};

const STORY: &str = "freeform = \"The story of {task}: the parser wants its cache to be warm, so warm it first.\", \
    architectural_notes = [\"One cache for {task}\"], \
    constraints_discovered = [{ constraint = \"No more than 8 files\", impact = \"batches\" }], \
    summary = \"Did {task}\"";

#[test]
fn the_last_handoff_reaches_the_next_prompt_in_every_format() {
    for format in Format::ALL {
        let repo = repo_with(format, &[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
        repo.script(&rule("", &hands_over(STORY)));
        repo.build([]).ok();
        let first = repo.prompt(1);
        assert!(!first.contains("The story of"), "{format:?}: {first}");
        for (iteration, before) in [(2, "t-aaa1"), (3, "t-aaa2")] {
            let prompt = repo.prompt(iteration);
            let id = repo.handoff(iteration - 1)["task_completed"]["task_id"].clone();
            let story = format!("The story of {}: the parser", id.as_str().unwrap());
            has(section(&prompt, "## Previous Handoff"), &[&story]);
            has(
                section(&prompt, "## Retrieved Memory"),
                &["One cache for", "No more than 8 files"],
            );
            assert!(!prompt.contains("## Retrieved Project Memory"), "{format:?} {before}");
            assert_eq!(prompt.matches("The story of").count(), 1, "only the last one");
        }
    }
}

#[test]
fn invariant_3_the_seven_headers_stand_in_their_order_and_truncation_knows_them() {
    let repo = repo_with(Format::Deluxe, &[task("T-001"), task("T-002")]);
    // A backend that takes no words beside the prompt, and whose second run is no good.
    let bot = "#!/bin/sh\ncat > /dev/null; echo run >> \"$HOME/runs\"; mkdir -p work; date +%N > work/x\n\
        if [ \"$(wc -l < \"$HOME/runs\")\" = 2 ]; then echo BROKEN > work/x; fi; echo '<TASK_DONE>'\n";
    repo.write("bot.sh", bot);
    repo.config(&format!(
        "backend = \"bot\"\nmode = \"handoff-plus-index\"\n[backends.bot]\nkind = \"command\"\n\
         command = [\"sh\", \"bot.sh\"]\n[memory]\nnovelty_overlap_threshold = 0.0\n{GATE}"
    ));
    repo.each_task(&serde_json::json!({ "skills": ["style"] }));
    repo.write(".ralph/skills/style.md", "Be brief.\n");
    repo.knows(crate::memory::OLD_MD, crate::memory::OLD_JSON);
    repo.build(["--once"]).ok();
    repo.build(["--once"]).fails(3);
    repo.build(["--once"]).ok();
    let prompt = repo.prompt(3);
    let headers: Vec<&str> = prompt.lines().filter(|line| line.starts_with("## ")).collect();
    let all = [
        "## Current Task",
        "## Failure Context",
        "## Retrieved Memory",
        "## Previous Handoff",
        "## Retrieved Project Memory",
        "## Skills",
        "## Output Instructions",
    ];
    assert_eq!(headers, all);
}

#[test]
fn invariant_3_a_section_that_does_not_fit_goes_as_a_whole_and_the_prompt_says_where_it_is() {
    let repo = in_mode(
        "handoff-only",
        Format::Deluxe,
        &[task("T-001"), task("T-002")],
        "[memory]\ncontext_budget_tokens = 1500\n",
    );
    let long = "word ".repeat(4000);
    repo.script(&rule("", &hands_over(&format!("freeform = {long:?}"))));
    repo.build([]).ok();
    let prompt = repo.prompt(2);
    assert!(prompt.chars().count() <= 1500 * 4, "{} characters", prompt.chars().count());
    assert!(!prompt.contains("word word word"), "{prompt}");
    has(&prompt, &["## Current Task", ".ralph/handoffs/handoff-001.json"]);
    assert!(!prompt.contains("TRUNCATION_METADATA"), "{prompt}");
    let cut = repo.events("prompt_truncated");
    assert_eq!(cut.len(), 1, "{cut:?}");
    assert!(cut[0]["metadata"].to_string().contains("previous_handoff"), "{}", cut[0]);
}

#[test]
fn invariant_4_the_mode_decides_what_the_prompt_says_of_the_last_handoff() {
    let of = |mode: &str| {
        let repo = in_mode(mode, Format::Jsonl, &[task("t-aaa1"), task("t-aaa2")], "");
        repo.knows(crate::memory::OLD_MD, crate::memory::OLD_JSON);
        repo.script(&rule("", &hands_over(STORY)));
        repo.build([]).ok();
        repo.prompt(2)
    };
    let (structured, index) =
        ("### Structured context from previous iteration", "## Retrieved Project Memory");
    let only = of("handoff-only");
    assert!(!only.contains(structured) && !only.contains(index), "{only}");
    let plus = of("handoff-plus-index");
    has(&plus, &[structured, index, "Must never force push to main", "- Decision: One cache for"]);
}

/// The mode that the run was in, as its first event says.
#[track_caller]
fn mode_of(repo: &Repo) -> String {
    let start = repo.events("orchestrator_start");
    start.last().unwrap()["metadata"]["mode"].as_str().unwrap().to_owned()
}

#[test]
fn the_mode_is_that_of_the_flag_then_of_the_environment_then_of_the_file_then_the_default() {
    let tasks = ["t-aaa1", "t-aaa2", "t-aaa3", "t-aaa4"].map(task);
    let repo = repo(&tasks);
    repo.build(["--once"]).ok();
    assert_eq!(mode_of(&repo), "handoff-only");
    repo.set("mode = \"handoff-plus-index\"");
    repo.build(["--once"]).ok();
    assert_eq!(mode_of(&repo), "handoff-plus-index");
    let env = |args: &[&str]| {
        let args = ["build", "--once"].iter().chain(args);
        repo.command(args).env("RALPH_MODE", "agent-orchestrated").run().ok();
        mode_of(&repo)
    };
    assert_eq!(env(&[]), "agent-orchestrated");
    assert_eq!(env(&["--mode", "handoff-only"]), "handoff-only");
}

#[test]
fn a_handoff_that_ralph_made_itself_says_so_in_its_file_and_in_the_prompt() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let marker =
        r#"{ write = "work/{task}.txt", text = "x\n" }, { claim = "done", form = "marker" }"#;
    repo.script(&(rule("task = \"t-aaa1\"", marker) + &rule("", GOOD)));
    repo.build([]).ok();
    let made = repo.handoff(1);
    assert_eq!(made["synthetic"], true);
    has(made["freeform"].as_str().unwrap(), &["This handoff is synthetic", "work/t-aaa1.txt"]);
    assert!(repo.handoff(2)["synthetic"].is_null());
    has(&repo.prompt(2), &["The last attempt left no handoff of its own; ralph made this one."]);
}

#[test]
fn a_handoff_that_is_no_json_or_has_wrong_types_costs_a_retry_and_nothing_else() {
    let cut =
        r#"{ write = "work/x.txt", text = "x\n" }, { answer = '{"task_completed": {"task_id": ' }"#;
    let types = &hands_over("deviations = \"none\", summary = 7");
    for bad in [cut, types] {
        let repo = repo(&[task("t-aaa1")]);
        repo.script(&(rule("attempt = 1", bad) + &rule("", GOOD)));
        let run = repo.build([]).ok();
        says(&run, "without saying that the task is done");
        assert_eq!(repo.handoff(1)["synthetic"], true, "{bad}");
        assert!(repo.handoff(2)["synthetic"].is_null(), "{bad}");
        assert_eq!(repo.landed(), ["t-aaa1"]);
        has(&repo.prompt(2), &["## Failure Context"]);
    }
}

#[test]
fn a_story_of_fifty_megabytes_is_only_pointed_to() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.build(["--once"]).ok();
    let mut handoff = repo.handoff(1);
    handoff["freeform"] = "0123456789".repeat(5_000_000).into();
    repo.write(".ralph/handoffs/handoff-001.json", handoff.to_string());
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    let prompt = repo.prompt(2);
    assert!(prompt.chars().count() <= 8000 * 4, "{} characters", prompt.chars().count());
    has(&prompt, &[".ralph/handoffs/handoff-001.json"]);
}

#[test]
fn an_answer_of_fifty_megabytes_costs_an_attempt_and_the_others_go_on() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let bot = r#"#!/bin/sh
if cat | grep -q 'Do t-aaa1'; then
    printf '{"type":"result","text":"'
    head -c 50000000 /dev/zero | tr '\0' x
    printf '"}\n'
else
    mkdir -p work && echo x > work/x.txt && echo '<TASK_DONE>'
fi
"#;
    repo.write("bot.sh", bot);
    repo.config(&format!(
        "backend = \"bot\"\nmax_retries = 0\n[backends.bot]\nkind = \"command\"\ncommand = [\"sh\", \"bot.sh\"]\n{GATE}"
    ));
    let run = repo.build([]).fails(3);
    assert_eq!(repo.landed(), ["t-aaa2"]);
    assert_eq!(repo.handoff(1)["synthetic"], true, "{}", run.stdout);
    has(&repo.read(".ralph/logs/ralph.log"), &["Iteration 1: "]);
}

#[test]
fn a_template_with_an_undefined_variable_is_told_and_the_embedded_one_is_used() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("ralph/prompts/task.md", "Please do {{ tusk.title }}.\n");
    repo.commit("prompt");
    let run = repo.build([]).ok();
    says(&run, "ralph/prompts/task.md:1: there is no variable");
    says(&run, "the embedded prompt is used");
    has(&repo.read(".ralph/logs/ralph.log"), &["ralph/prompts/task.md:1"]);
    has(&repo.prompt(1), &["## Current Task", "Do t-aaa1"]);
}

#[test]
fn a_skill_that_is_a_directory_is_warned_about_and_the_others_are_given() {
    let repo = repo_with(Format::Deluxe, &[task("T-001")]);
    repo.each_task(&serde_json::json!({ "skills": ["folder", "style"] }));
    repo.write(".ralph/skills/folder.md/inside.md", "x\n");
    repo.write(".ralph/skills/style.md", "Be brief.\n");
    repo.commit("skills");
    let run = repo.build([]).ok();
    says(&run, "the task goes on without a skill");
    has(section(&repo.prompt(1), "## Skills"), &["Be brief."]);
}

#[test]
fn a_prompt_that_an_agent_left_behind_is_not_used_in_other_modes() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write(crate::memory::PREPARED, GOOD_PROMPT);
    repo.build([]).ok();
    assert!(!repo.prompt(1).contains("PREPARED WITH CARE"));
}
