//! `ralph plan`: a spec, or a sentence, becomes tasks in whatever format the plan has.

use serde_json::{Value, json};

use crate::lab::{Lab, SPEC, answers, lab, new, planned, planner, plans, task, with};
use crate::plans::{Format, records, value};
use crate::repo::{said, says};

/// Three tasks, the last of which needs the others by their keys.
fn three() -> Value {
    json!({
        "tasks": [
            new("schema", "Add the field to the schema"),
            with(new("upload", "Create the upload endpoint"), json!({ "deps": ["schema"], "notes": "See src/main.c." })),
            with(new("page", "Show the picture"), json!({ "deps": ["upload", "schema"] })),
        ],
        "context": "Users have pictures. Use the client in src/main.c.",
        "accept": ["users can upload JPG up to 5 MB"],
    })
}

fn plan<const N: usize>(lab: &Lab, args: [&str; N]) -> ralph_testkit::Run {
    lab.run(["plan"].into_iter().chain(args))
}

#[test]
fn a_spec_becomes_tasks_with_criteria_notes_dependencies_and_priorities() {
    let lab = lab();
    lab.agents(&plans(three()));
    let run = plan(&lab, [SPEC]).ok();
    says(&run, "3 new tasks in ralph/plan.jsonl");
    let tasks = lab.of_type("task");
    let id = |n: usize| tasks[n]["id"].clone();
    assert_eq!(tasks[1]["deps"], json!([id(0)]));
    assert_eq!(tasks[2]["deps"], json!([id(1), id(0)]));
    assert_eq!(tasks[1]["notes"], "See src/main.c.");
    assert_eq!(tasks[0]["accept"], "`cat work/schema.txt` prints it");
    assert!(tasks.iter().all(|t| t["priority"].is_string() && t["s"] == "p" && t["spec"] == SPEC));
    assert_eq!(lab.of_type("spec").last().unwrap()["spec"], SPEC, "it is the current spec now");
}

#[test]
fn the_report_says_that_it_was_planned_and_counts_its_cost_to_the_spec() {
    let lab = lab();
    lab.agents(&planner("", &format!("{{ cost = 0.50 }}, {}", answers(&three()))));
    plan(&lab, [SPEC]).ok();
    lab.run(["build", "--once"]).ok();
    let text = lab.run(["report"]).ok().stdout;
    assert!(text.contains("ralph plan, planned"), "{text}");
    let report = lab.run(["report", "--json"]).ok().json();
    let part = &report["specs"][0];
    assert_eq!((&part["spec"], &part["cost_usd"]), (&json!(SPEC), &json!(0.5)), "{part:#}");
    assert_eq!(part["done"], false, "two tasks are left");
    let nothing = json!({ "cost_usd": 0.0, "cost_unknown": 0, "cost_words": "$0.00" });
    assert_eq!(report["other_cost"], nothing);
}

#[test]
fn every_format_can_be_planned_and_then_built() {
    for (word, format) in [
        ("jsonl", Format::Jsonl),
        ("plan-json", Format::Deluxe),
        ("progress", Format::Progress),
        ("implementation", Format::Implementation),
    ] {
        let lab = lab();
        lab.agents(&plans(three()));
        let run = plan(&lab, [SPEC, "--format", word]).ok();
        says(&run, &format!("3 new tasks in {}", format.path()));
        lab.run(["validate", "--plan", format.path()]).ok();
        lab.run(["build", format.path()]).ok();
        let built: Vec<Value> =
            lab.journal().into_iter().filter(|r| r["record"] == "attempt_started").collect();
        let names: Vec<&str> = built.iter().map(|r| r["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            ["Add the field to the schema", "Create the upload endpoint", "Show the picture"],
            "{word}"
        );
    }
}

#[test]
fn implementation_json_gets_what_the_seed_shows() {
    let lab = lab();
    lab.write("specs/user-avatar-upload.md", "# User Avatar Upload\n\nUsers upload pictures.\n");
    lab.agents(&plans(three()));
    plan(&lab, ["specs/user-avatar-upload.md", "--format", "implementation"]).ok();
    let file = value(&lab.read("implementation.json"));
    assert_eq!(file["version"], 1);
    assert_eq!(file["updatedBy"], "plan-mode");
    assert!(file["updatedAt"].is_string());
    let spec = &file["specs"][0];
    assert_eq!(spec["id"], "user-avatar-upload");
    assert_eq!(spec["file"], "specs/user-avatar-upload.md");
    assert_eq!(spec["name"], "User Avatar Upload");
    assert_eq!(spec["priority"], 1);
    assert_eq!(spec["status"], "pending");
    assert_eq!(spec["context"], "Users have pictures. Use the client in src/main.c.");
    assert_eq!(spec["acceptanceCriteria"], json!(["users can upload JPG up to 5 MB"]));
    let task = &spec["tasks"][1];
    assert_eq!(task["id"], "user-avatar-upload-2");
    assert_eq!(task["description"], "Create the upload endpoint");
    assert_eq!(task["status"], "pending");
    assert_eq!(task["acceptanceCriteria"], json!(["`cat work/upload.txt` prints it"]));
    // What somebody wrote about a spec stays when it is planned again.
    let text = lab.read("implementation.json").replace("Users have pictures.", "My own words.");
    lab.write("implementation.json", text);
    lab.agents(&plans(
        json!({ "tasks": [new("more", "Do more of it")], "context": "Other words." }),
    ));
    plan(&lab, ["specs/user-avatar-upload.md", "--plan", "implementation.json"]).ok();
    let file = value(&lab.read("implementation.json"));
    assert!(file["specs"][0]["context"].as_str().unwrap().starts_with("My own words."), "{file:#}");
    assert_eq!(file["specs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_bad_plan_goes_back_once_with_the_reasons() {
    let lab = lab();
    let bad = json!({ "tasks": [
        { "key": "a", "name": "Do it", "accept": ["works correctly"], "deps": ["nothing"] },
    ]});
    let again = answers(&three());
    lab.agents(
        &(format!("[[rule]]\nwhen = \"`nothing`, which does not exist\"\nsteps = [{again}]\n")
            + &plans(bad)),
    );
    plan(&lab, [SPEC]).ok();
    assert_eq!(lab.of_type("task").len(), 3);
}

#[test]
fn a_planner_without_sessions_is_asked_anew_with_the_reasons() {
    let lab = lab();
    lab.write(
        "planner.sh",
        "cat > \"$HOME/asked\"\nif grep -q 'is vague' \"$HOME/asked\"; then c='`true` exits with 0'; \
         else c='works correctly'; fi\n\
         echo \"{\\\"tasks\\\": [{\\\"name\\\": \\\"Do it\\\", \\\"accept\\\": [\\\"$c\\\"]}]}\"\n",
    );
    lab.config(
        "backend = \"bot\"\n[backends.bot]\nkind = \"command\"\ncommand = [\"sh\", \"planner.sh\"]\nclaim = \"exit\"\n",
    );
    plan(&lab, [SPEC]).ok();
    assert_eq!(lab.named("Do it")["accept"], "`true` exits with 0");
    assert_eq!(lab.asked("plan").len(), 1, "both starts are one question");
}

#[test]
fn a_plan_that_stays_bad_fails_with_every_reason_and_changes_nothing() {
    let ring = json!([
        with(new("a", "Do a"), json!({ "deps": ["b"] })),
        with(new("b", "Do b"), json!({ "deps": ["a"] }))
    ]);
    for (tasks, words) in [
        (json!([]), "there are no tasks"),
        (json!([{ "name": "Do it", "accept": [] }]), "has no acceptance criteria"),
        (json!([{ "name": "Do it", "accept": ["works correctly"] }]), "is vague"),
        (
            json!([with(new("a", "Do it"), json!({ "deps": ["zz"] }))]),
            "depends on `zz`, which does not exist",
        ),
        (ring, "wait for each other"),
    ] {
        let lab = planned(&[with(task("t-zzz1"), json!({ "spec": "other.md" }))]);
        let before = lab.plan();
        lab.agents(&plans(json!({ "tasks": tasks })));
        let run = plan(&lab, [SPEC]).fails(3);
        says(&run, words);
        says(&run, "build/ralph-logs/");
        assert_eq!(lab.plan(), before, "{words}");
        // In a construct it is the same.
        let run = lab.construct([]).fails(3);
        says(&run, words);
    }
}

#[test]
fn nonsense_and_crashes_of_the_planner_fail_with_words() {
    for steps in [r#"{ answer = "Here is a fine plan." }"#, r#"{ signal = "kill" }"#] {
        let lab = lab();
        lab.agents(&planner("", steps));
        let run = plan(&lab, [SPEC]).fails(3);
        assert!(said(&run).contains("error: "), "{}", said(&run));
        let plan = if lab.exists("ralph/plan.jsonl") { lab.plan() } else { String::new() };
        assert!(records(&plan).iter().all(|r| r["t"] == "spec"), "{plan}");
    }
}

#[test]
fn merging_keeps_what_is_there_and_adds_only_what_is_new() {
    let lab = planned(&[task("t-aaa1"), with(task("t-zzz1"), json!({ "spec": "other.md" }))]);
    let again = json!({ "tasks": [new("x", "Do t-aaa1"), new("y", "Do something new")] });
    lab.agents(&plans(again));
    // Without a terminal nobody is asked, and merging loses nothing.
    for args in [vec![SPEC], vec![SPEC, "--merge"]] {
        lab.run(["plan"].into_iter().chain(args)).ok();
        let names: Vec<Value> = lab.of_type("task").iter().map(|t| t["name"].clone()).collect();
        assert_eq!(names, ["Do t-aaa1", "Do t-zzz1", "Do something new"]);
    }
}

#[test]
fn replacing_takes_out_the_open_tasks_of_this_spec_and_nothing_else() {
    let lab = planned(&[
        task("t-aaa1"),
        crate::lab::done("t-aaa2"),
        with(task("t-zzz1"), json!({ "spec": "other.md" })),
    ]);
    lab.agents(&plans(json!({ "tasks": [new("x", "Do it all differently")] })));
    plan(&lab, [SPEC, "--replace"]).ok();
    let names: Vec<Value> = lab.of_type("task").iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["Do t-aaa2", "Do t-zzz1", "Do it all differently"]);
    assert_eq!(lab.of_type("delete")[0]["id"], "t-aaa1");
    plan(&lab, [SPEC, "--replace", "--merge"]).fails(2);
}

#[test]
fn without_an_argument_every_spec_that_has_no_tasks_is_planned() {
    for command in [vec!["plan"], vec!["start", "plan"]] {
        let lab = planned(&[task("t-aaa1")]);
        lab.write("ralph/specs/b.md", "# B\n\nAbout bees.\n");
        lab.write("ralph/specs/c.md", "# C\n\nAbout cows.\n");
        lab.agents(
            &(planner(
                "with = \"About bees\"",
                &answers(&json!({ "tasks": [new("b", "Keep bees")] })),
            ) + &planner(
                "with = \"About cows\"",
                &answers(&json!({ "tasks": [new("c", "Milk cows")] })),
            )),
        );
        lab.run(&command).ok();
        let of = |spec: &str| -> Vec<Value> {
            let tasks = lab.of_type("task").into_iter().filter(|t| t["spec"] == spec);
            tasks.map(|t| t["name"].clone()).collect()
        };
        assert_eq!(of(SPEC), ["Do t-aaa1"], "{command:?}: it was planned already");
        assert_eq!((of("b.md"), of("c.md")), (vec![json!("Keep bees")], vec![json!("Milk cows")]));
        let run = lab.run(&command).ok();
        says(&run, "nothing to plan");
    }
}

#[test]
fn a_sentence_becomes_tasks_too_and_one_word_is_a_slip() {
    let lab = planned(&[task("t-aaa1")]);
    lab.agents(&plans(json!({ "tasks": [new("flag", "Add a --json flag")] })));
    plan(&lab, ["a --json flag for the list command"]).ok();
    assert_eq!(lab.named("Add a --json flag")["accept"], "`cat work/flag.txt` prints it");
    assert!(lab.prompt_of("-plan-").contains("a --json flag for the list command"));
    let run = plan(&lab, ["wrok"]).fails(1);
    says(&run, "there is no spec wrok");
    says(&run, "did you mean work.md?");
    let run = plan(&lab, ["frobnicate"]).fails(1);
    says(&run, "say what is wanted in a sentence");
}

#[test]
fn a_dry_run_shows_prompt_and_command_line_asks_nobody_and_changes_nothing() {
    let lab = lab();
    let before = lab.everything();
    let run = plan(&lab, [SPEC, "--dry-run"]).ok();
    for part in [
        "Plan:",
        "ralph/plan.jsonl",
        "Spec:",
        "work.md; its open tasks stay",
        "Backend:",
        "sim",
        "Command:",
        "__sim",
        "--read-only",
        "Input:",
        "the prompt below",
        "You turn a spec into a plan",
        "There are files in `work/`",
    ] {
        says(&run, part);
    }
    let run = plan(&lab, [SPEC, "--dry-run", "--json", "--replace"]).ok();
    let shown = run.json();
    assert_eq!(shown["would_plan"][0]["spec"], SPEC);
    assert_eq!(shown["would_plan"][0]["open_tasks"], "go away");
    assert!(shown["would_plan"][0]["prompt"].as_str().unwrap().contains("There are files"));
    assert_eq!(shown["would_plan"][0]["backend"]["name"], "sim");
    assert_eq!(lab.everything(), before);
}

#[test]
fn a_plan_is_not_committed_with_code_and_the_ledger_is() {
    let lab = lab();
    lab.write("src/main.c", "int main(void) { return 1; }\n");
    plan(&lab, [SPEC]).ok();
    assert_eq!(lab.status(), " M src/main.c", "the user's change is still the user's");
    assert_eq!(lab.subjects().last().map(String::as_str), Some("ralph: ledger"));
}

#[test]
fn a_format_that_the_plan_does_not_have_is_refused() {
    let lab = planned(&[task("t-aaa1")]);
    let run = plan(&lab, [SPEC, "--plan", "ralph/plan.jsonl", "--format", "progress"]).fails(1);
    says(&run, "ralph convert");
}

#[test]
fn a_planner_that_is_not_logged_in_is_an_error_with_advice() {
    let lab = lab();
    lab.agents(&planner("", r#"{ fault = "not_logged_in" }"#));
    let run = plan(&lab, [SPEC]).fails(1);
    says(&run, "error: ");
    says(&run, "hint: ");
}

#[test]
fn the_report_of_a_night_without_a_plan_says_that_it_needs_somebody_and_what_to_run() {
    for steps in [r#"{ answer = "Here is a fine plan." }"#, r#"{ signal = "kill" }"#] {
        let lab = lab();
        lab.agents(&planner("", steps));
        lab.construct([]).fails(3);
        let report = lab.run(["report", "--json"]).ok().json();
        let needs = report["needs"].as_array().unwrap();
        assert_eq!(needs.len(), 1, "{report}");
        let text = needs[0]["text"].as_str().unwrap();
        assert!(text.starts_with("ralph construct stopped: there is no usable plan"), "{text}");
        let next = needs[0]["command"].as_str().unwrap();
        lab.run(["report"]).ok().stdout_has("1 thing needs you").stdout_has(next);
        // The next night has what was missing, and the command works as it was printed.
        lab.agents(&plans(three()));
        lab.run(next.strip_prefix("ralph ").unwrap().split(' ')).ok();
        let report = lab.run(["report", "--json"]).ok().json();
        assert_eq!(report["needs"], json!([]), "{report}");
    }
}

#[test]
fn json_output_is_one_event_a_line_and_words_go_elsewhere() {
    let lab = lab();
    let run = plan(&lab, [SPEC, "--json"]).ok();
    assert!(!Lab::told(&run).is_empty());
    let run = lab.construct(["--json"]).ok();
    let told = Lab::told(&run);
    let kinds: Vec<&str> = told.iter().map(|e| e["event"].as_str().unwrap()).collect();
    for kind in ["stage_start", "stage_end", "construct_summary"] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
}

/// `ralph plan` in a terminal, with what somebody types.
fn asked(lab: &Lab, typed: &str) -> String {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let line = format!(
        "(sleep 1; printf '{typed}'; sleep 1) | script -qec '{ralph} plan {SPEC}' /dev/null"
    );
    said(&lab.shell(&line))
}

#[test]
fn on_a_terminal_the_user_says_what_becomes_of_tasks_that_are_there() {
    let lab = lab();
    lab.agents(&plans(three()));
    plan(&lab, [SPEC]).ok();
    let before = lab.read("ralph/plan.jsonl");
    let text = asked(&lab, "c\\n");
    assert!(text.contains("has tasks already. [m]erge"), "{text}");
    assert!(text.contains("Nothing was changed."), "{text}");
    assert_eq!(lab.read("ralph/plan.jsonl"), before);
    lab.agents(&plans(json!({ "tasks": [new("other", "Do it another way")] })));
    asked(&lab, "r\\n");
    let names: Vec<Value> = lab.of_type("task").iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["Do it another way"]);
    lab.agents(&plans(json!({ "tasks": [new("more", "And one more")] })));
    asked(&lab, "\\n");
    assert_eq!(lab.of_type("task").len(), 2, "Enter merges");
}

#[test]
fn a_spec_that_is_satisfied_already_gets_no_tasks_and_a_verifier_decides() {
    let nothing = json!({ "tasks": [], "reason": "work/ has all the files" });
    let lab = lab();
    lab.agents(&plans(nothing.clone()));
    let run = lab.construct([]).ok();
    says(&run, "nothing to do, the planner says: work/ has all the files");
    assert!(lab.is_satisfied() && lab.built().is_empty());
    assert_eq!(lab.stages(), ["0 plan", "1 verify"]);
    // The verifier may see it differently.
    let lab = self::lab();
    let gap = json!([{ "kind": "missing_feature", "title": "Write it", "description": "a file" }]);
    let missing = json!({ "satisfied": false, "reason": "no", "gaps": gap });
    lab.agents(&(plans(nothing.clone()) + &crate::lab::judges("unless = \"Write it\"", missing)));
    lab.construct(["--max-iterations", "2"]);
    assert_eq!(lab.accepted(), ["Write it"], "{}", lab.plan());
    // On its own, the planner says what it found.
    let lab = self::lab();
    lab.agents(&plans(nothing));
    says(&plan(&lab, [SPEC]).ok(), "nothing to do, the planner says: work/ has all the files");
}
