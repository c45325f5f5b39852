//! `docs/reference/files.md`: the files of a project, and one plan in all four formats.

use std::fmt::Write as _;

use ralph_testkit::project;

use super::{HEAD, holds, row};

const OPENING: &str = "\
# Files and formats

Everything that ralph knows is in plain files of your repository. Nothing is kept elsewhere: no server, no
account, no database.

## Files

";

const FILES: &[(&str, &str, &str)] = &[
    ("`ralph.toml`", "yes", "[configuration](../configuration.md)"),
    ("`ralph/specs/*.md`", "yes", "specs, written by you"),
    ("`ralph/plan.jsonl`", "yes", "the plan: tasks and issues; or one of the other formats below"),
    ("`ralph/inbox.jsonl`", "yes", "the queue of specs for `ralph agent`"),
    ("`ralph/prompts/`", "yes", "[your own prompts](../prompts.md#changing-it)"),
    ("`.ralph/knowledge-index.md`, `.json`", "yes", "[what agents have learned](../knowledge.md)"),
    ("`.ralph/progress-log.md`, `.json`", "yes", "what each landed attempt did"),
    ("`.ralph/skills/`", "yes", "texts that a task can ask for"),
    ("`.ralph/handoffs/`", "no", "[what each attempt told the next](schemas.md#handoff)"),
    ("`.ralph/logs/events.jsonl`", "no", "[events](events.md)"),
    ("`.ralph/logs/ralph.log`", "no", "what ralph did, in words"),
    ("`.ralph/state.json`", "no", "where the loop is, for programs"),
    ("`.ralph/context/`", "no", "the last prompts, and other versions of files that were put back"),
    ("`build/ralph-logs/`", "no", "one log for each run of an agent, with its prompt"),
    ("`.git/ralph/`", "no", "the journal from which a killed run goes on; locks"),
    ("`refs/ralph/…`", "no", "work that did not land, until `retention.salvage` is over"),
];

const FORMATS: &str = "
The second column says whether the file belongs into commits. `ralph init` writes the ignore rules for the
others.

## Plan formats

One plan in four formats. The format is detected by its content; `ralph convert IN OUT` writes any of them as
any other, and says what the target cannot hold. Unknown fields, order, comments and indentation stay as
they are whatever ralph changes.

";

/// The plan that is shown.
const PLAN: &str = r#"{"t":"spec","spec":"avatars.md"}
{"t":"task","id":"t-b2up","spec":"avatars.md","name":"Create the upload endpoint","s":"p","accept":"anything but PNG and JPEG gets a 415","priority":"high"}
{"t":"task","id":"t-c3rs","spec":"avatars.md","name":"Resize uploads to 256 pixels","s":"p","accept":"a 4000x3000 JPEG comes back as 256x192","deps":["t-b2up"]}
{"t":"issue","id":"i-d4ex","spec":"avatars.md","desc":"What happens to the old picture?"}
"#;

const RECORDS: &str = "
A line of `plan.jsonl` is a record; `t` says which kind.

| `t` | what it is | fields beside `t` |
| --- | --- | --- |
| `task` | work | `id`, `name`, `s`, `spec`, `accept`, `notes`, `deps`, `priority`, `parent`, `created_from`, `retry_count`, `max_retries`, `max_turns`, `timeout_ms`, `skills`, `libraries`, `needs_docs`, `done_at`, `reject`, `blocked`, `kill_reason`, `kill_log` |
| `issue` | a question or a bug that is not yet work | `id`, `desc`, `spec`, `priority`, `created_from` |
| `accept` | a task that was accepted and has left the plan; without `id`, a whole spec | `id`, `name`, `done_at`, `at`; `spec`, `at` |
| `reject` | a task that was rejected | `id`, `name`, `reason`, `at` |
| `delete` | a task that was left out | `id`, `reason`, `at` |
| `spec` | the spec that is worked on; the last one counts | `spec` |
| `config` | settings of this plan | `timeout_ms`, `max_iterations`, `context_warn`, `context_compact`, `context_kill` |

`s` is `p` for pending or `d` for done, which is a claim until somebody accepts it. Records of another
kind are kept as they are. A damaged line stops ralph with its number; nothing is rewritten around it.
";

#[test]
fn the_page_of_files_shows_what_convert_really_writes() {
    let mut page = format!("{HEAD}{OPENING}");
    page.push_str(&row(&["file", "in git", "what it is"]));
    page.push_str("| --- | --- | --- |\n");
    for (file, git, about) in FILES {
        page.push_str(&row(&[file, git, about]));
    }
    page.push_str(FORMATS);
    let _ = write!(page, "### ralph's own: `ralph/plan.jsonl`\n\n```jsonl\n{PLAN}```\n{RECORDS}");
    let p = project!().git_init().file("ralph/specs/avatars.md", "# Avatars\n");
    let p = p.file("plan.jsonl", PLAN).env("RALPH_SEED", "11");
    for (title, file, language) in [
        ("Ralph Deluxe: `plan.json`", "plan.json", "json"),
        ("Markdown with checkboxes: `progress.md`", "progress.md", "markdown"),
        ("Specs with tasks in them: `implementation.json`", "implementation.json", "json"),
    ] {
        let run = p.run(["convert", "plan.jsonl", file]).ok();
        let _ = write!(page, "\n### {title}\n\n```{language}\n{}\n```\n", p.read(file).trim_end());
        let said = format!("{}{}", run.stdout, run.stderr);
        let _ = write!(page, "\nWhat `ralph convert` says:\n\n```text\n{}\n```\n", said.trim_end());
    }
    holds("docs/reference/files.md", &page);
}
