//! Bad files and bad places: a clear error or correct work, and not a byte changed by an error.

use std::fs;

use ralph_testkit::{Run, SmallDisk, TestProject, project};

const TASK: &str = "{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"A\",\"s\":\"p\"}\n";

/// Reading and writing both fail, say where, and leave the file as it was.
#[track_caller]
fn refuses(p: &TestProject, plan: &str, place: &str) {
    let before = p.read_bytes(plan);
    for args in [&["query", "stage"][..], &["task", "add", "x"], &["task", "prioritize"]] {
        p.run(args.iter().chain(&["--plan", plan])).fails(1).stdout("").stderr_has(place);
    }
    assert!(p.read_bytes(plan) == before, "{plan} changed");
    assert!(!p.exists(format!("{plan}.torn")));
}

fn plan(content: impl AsRef<[u8]>) -> TestProject {
    project!().git_init().file("ralph/plan.jsonl", content)
}

#[test]
fn a_damaged_line_stops_everything_and_names_the_line() {
    for (bad, line) in [
        ("{\"t\":\"task\",\"id\":\"t-bbbb\",\"na", 2), // cut in the middle, with a newline: no append
        ("\u{0}\u{1}\u{2}", 2),
        ("{\"t\":\"task\",\"id\":\"t-b\",\"id\":\"t-c\",\"name\":\"x\",\"s\":\"p\"}", 2),
        ("{\"t\":\"task\",\"name\":\"no id\",\"s\":\"p\"}", 2),
        ("{\"t\":\"task\",\"id\":\"t-bbbb\",\"name\":\"x\",\"s\":\"q\"}", 2),
        ("{\"t\":\"task\",\"id\":\"t-bbbb\",\"name\":\"x\",\"s\":\"p\",\"deps\":\"t-aaaa\"}", 2),
        ("[1]", 2),
        ("plain text", 2),
    ] {
        refuses(
            &plan(format!("{TASK}{bad}\n{TASK}")),
            "ralph/plan.jsonl",
            &format!("ralph/plan.jsonl:{line}"),
        );
    }
}

#[test]
fn invalid_utf8_names_the_line() {
    refuses(
        &plan([TASK.as_bytes(), b"{\"t\":\"\xff\"}\n"].concat()),
        "ralph/plan.jsonl",
        "ralph/plan.jsonl:2",
    );
}

#[test]
fn a_binary_file_is_refused() {
    let noise: Vec<u8> =
        (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for name in ["plan.json", "progress.md", "implementation.json", "plan.jsonl"] {
        let with_newlines = [&noise[..], b"\n", &noise[..], b"\n"].concat();
        refuses(&project!().git_init().file(name, with_newlines), name, name);
    }
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    let deep = format!("{{\"t\":\"x\",\"v\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    refuses(&plan(deep), "ralph/plan.jsonl", "ralph/plan.jsonl:1");
    let deep = format!("{{\"tasks\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    refuses(&project!().git_init().file("plan.json", deep), "plan.json", "plan.json:1");
}

#[test]
fn crlf_and_a_byte_order_mark_are_kept() {
    let text = format!("\u{feff}{}", TASK.replace('\n', "\r\n"));
    let p = plan(&text);
    p.run(["task", "add", "B"]).ok();
    let now = p.read("ralph/plan.jsonl");
    assert!(now.starts_with(&text));
    assert!(now.ends_with("}\r\n"), "{now:?}");
    p.run(["task", "done", "t-aaaa"]).ok();
    assert!(p.read("ralph/plan.jsonl").starts_with('\u{feff}'));
}

#[test]
fn an_append_that_was_cut_off_is_moved_aside_and_work_goes_on() {
    let p = plan(format!("{TASK}{{\"t\":\"task\",\"id\":\"t-b"));
    let before = p.read("ralph/plan.jsonl");
    p.run(["query", "stage"]).ok().stdout("BUILD\n").stderr("");
    assert_eq!(p.read("ralph/plan.jsonl"), before, "whoever only reads changes nothing");
    p.run(["task", "add", "A2"]).ok().stderr_has("plan.jsonl.torn");
    assert!(p.read("ralph/plan.jsonl").starts_with(TASK));
    assert!(p.read("ralph/plan.jsonl.torn").contains("{\"t\":\"task\",\"id\":\"t-b"));
    p.run(["task", "add", "B"]).ok().stderr("");
}

#[test]
fn a_last_line_without_newline_that_is_whole_is_a_record() {
    let p = plan(TASK.trim_end());
    p.run(["task", "add", "B"]).ok();
    assert!(p.read("ralph/plan.jsonl").starts_with(TASK));
    assert_eq!(super::task::records(&p).len(), 2);
}

#[test]
fn a_hundred_megabytes_are_read_and_changed_correctly() {
    let note = "x".repeat(1_000_000);
    let line = |id: u32| {
        format!(
            "{{\"t\":\"task\",\"id\":\"t-{id:04}\",\"name\":\"A\",\"s\":\"p\",\"notes\":\"{note}\"}}\n"
        )
    };
    let text: String = (0..100).map(line).collect();
    let p = plan(&text);
    p.run(["query", "stage"]).ok().stdout("BUILD\n");
    p.run(["task", "done", "t-0050"]).ok();
    let now = p.read("ralph/plan.jsonl");
    assert_eq!(now.matches("\"s\":\"d\"").count(), 1);
    assert!(now.len() > text.len(), "nothing was cut");
}

#[test]
fn a_symlinked_plan_stays_a_link_and_its_target_changes() {
    let p = project!()
        .git_init()
        .file("elsewhere/real.jsonl", TASK)
        .link("ralph/plan.jsonl", "../elsewhere/real.jsonl");
    p.run(["task", "done", "t-aaaa"]).ok();
    assert!(fs::symlink_metadata(p.path("ralph/plan.jsonl")).unwrap().is_symlink());
    assert!(p.read("elsewhere/real.jsonl").contains("\"s\":\"d\""));
}

#[test]
fn a_directory_in_place_of_the_plan_is_an_error() {
    let p = project!().git_init().dir("ralph/plan.jsonl");
    p.run(["query", "stage"]).fails(1).stderr_has("ralph/plan.jsonl").stderr_has("directory");
    p.run(["task", "add", "x"]).fails(1).stderr_has("directory");
}

#[test]
fn a_read_only_project_can_be_read_and_says_why_it_cannot_be_changed() {
    let p = plan(TASK).as_nobody();
    p.mode("ralph", 0o555);
    p.mode("ralph/plan.jsonl", 0o444);
    p.mode(".git", 0o555);
    p.run(["query", "stage"]).ok().stdout("BUILD\n");
    p.run(["task", "add", "x"]).fails(1).stderr_has("ermission");
    assert_eq!(p.read("ralph/plan.jsonl"), TASK);
}

#[test]
fn a_full_disk_is_an_error_and_leaves_the_plan_as_it_was() {
    let Some(disk) = SmallDisk::mount("a_full_disk_is_an_error_and_leaves_the_plan_as_it_was", 512)
    else {
        return;
    };
    let p = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path())
        .file("ralph/plan.jsonl", TASK);
    p.run(["query", "stage"]).ok();
    p.run(["task", "edit", "t-aaaa", "--notes", "makes the lock file"]).ok();
    let before = p.read("ralph/plan.jsonl");
    disk.fill();
    let long = "x".repeat(20_000);
    p.run(["task", "add", &long]).fails(1).stdout("").stderr_has("ralph/plan.jsonl");
    p.run(["task", "edit", "t-aaaa", "--notes", &long]).fails(1).stderr_has("ralph/plan.jsonl");
    assert_eq!(p.read("ralph/plan.jsonl"), before);
    let left: Vec<_> =
        fs::read_dir(p.path("ralph")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["plan.jsonl"], "no temporary file stays behind");
    disk.free();
    p.run(["task", "add", &long]).ok();
}

#[test]
fn git_is_not_needed_to_keep_a_plan() {
    let p = plan(TASK);
    let run = p.command(["task", "done", "t-aaaa"]).env("PATH", "/nonexistent").run();
    run.ok().stdout("Done: t-aaaa A\n");
}

#[test]
fn without_a_repository_a_plan_works_too_and_an_empty_place_says_what_to_do() {
    let p = project!().file("ralph/plan.jsonl", TASK);
    p.run(["task", "done", "t-aaaa"]).ok();
    project!().run(["query", "stage"]).fails(1).stderr_has("ralph init");
    project!().run(["task", "add", "x"]).fails(1).stderr_has("ralph init");
}

#[test]
fn a_bare_repository_is_refused() {
    let p = project!();
    p.git(["init", "--quiet", "--bare", "."]).ok();
    p.run(["task", "add", "x"]).fails(1).stderr_has("bare");
}

#[test]
fn a_detached_head_and_a_linked_worktree_are_no_problem() {
    let p = plan(TASK);
    p.git(["add", "-A"]).ok();
    p.git(["commit", "--quiet", "-m", "start"]).ok();
    p.git(["worktree", "add", "--quiet", "--detach", "../linked"]).ok();
    p.git(["checkout", "--quiet", "--detach"]).ok();
    p.run(["task", "done", "t-aaaa"]).ok();
    let linked = |args: &[&str]| -> Run { p.command(args).dir("../linked").run() };
    linked(&["query", "stage"]).ok().stdout("BUILD\n");
    linked(&["task", "add", "x"]).ok();
    assert!(p.exists(".git/worktrees/linked/ralph"), "its lock is its own");
}

#[test]
fn several_plan_files_are_listed_and_one_can_be_chosen() {
    let p = project!()
        .git_init()
        .file("plan.json", "{\"tasks\":[]}")
        .file("progress.md", "# Progress: x\n\n## Tasks\n");
    p.run(["query", "stage"])
        .fails(1)
        .stderr_has("plan.json")
        .stderr_has("progress.md")
        .stderr_has("--plan");
    p.run(["query", "stage", "--plan", "plan.json"]).ok().stdout("COMPLETE\n");
    p.run(["--directory", "..", "query", "stage", "--plan", "project/plan.json"]).ok();
    p.run(["query", "stage", "--plan", "none.json"]).fails(1).stderr_has("none.json");
}

#[test]
fn a_lock_left_by_a_dead_process_blocks_nobody() {
    let p = plan(TASK).file(".git/ralph/ledger.lock", "pid 1\nstarted 2020-01-01T00:00:00Z\n");
    p.run(["task", "add", "B"]).ok();
}
