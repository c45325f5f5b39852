//! The reference page, written from the key table.

use std::fmt::Write as _;

use super::env::deluxe_variables;
use super::keys::ConfigKey;
use super::table::{BackendSettings, Config, SECTIONS};
use super::value::{AbsentField, ConfigValue, RecordField, ValueKind};

/// Return the text of `docs/configuration.md`.
pub fn reference_page() -> String {
    let mut page = String::from(INTRODUCTION);
    for section in SECTIONS {
        section_text(&mut page, section);
        for key in *section {
            if let ValueKind::Records(fields) = key.kind {
                records_text(&mut page, key, fields);
            }
        }
    }
    page.push_str(VARIABLES);
    page.push_str("\n| variable | sets |\n| --- | --- |\n");
    for (name, sets) in deluxe_variables() {
        line(&mut page, &[&format!("`{name}`"), &sets]);
    }
    page.push_str(TOOLS);
    page
}

const INTRODUCTION: &str = r#"<!-- Written by ralph from crates/ralph-core/src/config/table.rs. To change it, change that file, then
     run: RALPH_UPDATE=1 cargo nextest run -p ralph-core configuration_page -->

# Configuration

`ralph.toml` in the project's root holds the configuration. Every key has a default; an empty file,
or none, is a good start. `ralph config show` lists every key with its value and where that comes
from, `ralph config set KEY VALUE` changes one and keeps your comments.

A value is taken from the highest layer that sets it:

1. an option on the command line,
2. an environment variable,
3. the config record of `plan.jsonl` (`timeout_ms`, `max_iterations` of construct, `context_warn`,
   `context_compact`, `context_kill`),
4. `ralph.toml`; in a project without one Ralph Deluxe's `.ralph/config/ralph.conf` or `ralph.conf`, which
   is read and never executed (`ralph init` makes `ralph.toml` of it),
5. your own file, `$XDG_CONFIG_HOME/ralph/config.toml` or `~/.config/ralph/config.toml`,
6. the default.

Tables merge key by key; a list, also a list of tables such as `[[gates]]`, replaces the whole list
of the layers below. An unknown key or a bad value is an error that names the file and the line.

How values are written:

- a **duration** has units, as in `"90s"`, `"10m"`, `"1h30m"`, `"250ms"`, `"30d"`; only `0` stands
  without one. The longest is 365 days.
- **dollars** and **ratios** (from 0 to 1) are plain numbers: `10.0`, `0.85`.
- paths are relative to the project.
"#;

const VARIABLES: &str = r#"
## Environment variables

Every key that is not a list of tables can be set by a variable: `RALPH_` and the key in capitals,
with `_` for each dot. `limits.max_cost` is `RALPH_LIMITS_MAX_COST`, `stages.verify.backend` is
`RALPH_STAGES_VERIFY_BACKEND`, `backends.claude.program` is `RALPH_BACKENDS_CLAUDE_PROGRAM` (the
name of a backend is read in small letters). A list is a JSON array or one item per line; `true` and
`false` may be `1` and `0`. A variable that is empty counts as not set, a bad value is an error, and
variables that are not named here are left alone.

The variables of Ralph Deluxe that have another name than their key work too.
`RALPH_MIN_DELAY_SECONDS` counts seconds; `RALPH_VALIDATION_COMMANDS` is a JSON array or one command
per line.
"#;

const TOOLS: &str = r#"
## ralph's own tools

A coding agent gets no MCP servers: what it needs is in its prompt. `mcp_config` of a stage names a file
with servers for it, and `mcp_tools = true` gives the agents of `ralph build` one more, `ralph`, which is
`ralph mcp`. claude, codex, opencode and ACP agents take it; gemini and commands cannot be given servers.
A claim that comes through a tool does not depend on anybody reading prose.

| tool | what it does |
| --- | --- |
| `task_list`, `task_show` | look at the plan |
| `knowledge_search` | look up what earlier attempts learned |
| `task_done`, `task_block` | claim something about the attempt's own task; the gates decide |
| `handoff_write` | leave the attempt's handoff; it comes before one in the answer, and the last one counts |
| `task_add`, `issue_add` | write down work, a question or a bug; three in one attempt |

An agent that no loop started may look, and add tasks and issues: `claude mcp add ralph -- ralph mcp`.
"#;

fn section_text(page: &mut String, section: &[ConfigKey]) {
    let Some((table, _)) = section.first().and_then(|key| key.path.rsplit_once('.')) else {
        page.push_str("\n## Top level\n");
        return rows(page, section);
    };
    let _ = writeln!(page, "\n## `[{}]`", table.replacen('*', "NAME", 1));
    if let Some(about) = about(table) {
        let _ = writeln!(page, "\n{about}");
    }
    rows(page, section);
}

/// A sentence for the tables whose name does not say it all.
fn about(table: &str) -> Option<&'static str> {
    Some(match table {
        "backends.*" => {
            "`claude`, `codex`, `gemini`, `opencode` and `sim` exist without a table of their own. Any \
             other name needs a `kind`."
        }
        "backends.*.prices" => {
            "Dollars per million tokens, for a backend that reports tokens but no cost."
        }
        "stages.*" => {
            "NAME is one of plan, investigate, build, verify, decompose, context, index, review."
        }
        "lane" => {
            "A lane is a checkout of ralph's own, outside your repository, in which a coding agent works."
        }
        _ => return None,
    })
}

fn rows(page: &mut String, section: &[ConfigKey]) {
    page.push_str("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    let mut defaults = Config::default();
    defaults.backends.insert(String::new(), BackendSettings::default());
    for key in section {
        let name = key.path.rsplit('.').next().unwrap_or(key.path);
        let default = shown((key.get)(&defaults, ""));
        let link = match key.kind {
            ValueKind::Records(_) => format!("see [`[[{name}]]`](#{name})"),
            kind => value_text(&kind),
        };
        line(page, &[&format!("`{name}`"), &link, &default, key.doc.trim()]);
    }
}

fn records_text(page: &mut String, key: &ConfigKey, fields: &[RecordField]) {
    let _ = writeln!(page, "\n### `[[{}]]`", key.path);
    page.push_str("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for field in fields {
        let default = match field.absent {
            AbsentField::Refused => "must be given".to_owned(),
            AbsentField::Means(value) => shown(value()),
        };
        line(
            page,
            &[&format!("`{}`", field.name), &value_text(&field.kind), &default, field.doc.trim()],
        );
    }
}

fn value_text(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Bool => "true, false".into(),
        ValueKind::Whole { min: 0 } => "whole number".into(),
        ValueKind::Whole { min } => format!("whole number, at least {min}"),
        ValueKind::Ratio => "ratio".into(),
        ValueKind::Dollars => "dollars".into(),
        ValueKind::Duration { .. } => "duration".into(),
        ValueKind::Text => "text".into(),
        ValueKind::Word(words) => ticked(words),
        ValueKind::Size => "size".into(),
        ValueKind::Trigger => "`always`, `on_success`, `on_failure`, `periodic:N`".into(),
        ValueKind::List => "list of texts".into(),
        ValueKind::Words(words) => format!("list of {}", ticked(words)),
        ValueKind::Records(_) => "list of tables".into(),
    }
}

fn ticked(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn shown(value: Option<ConfigValue>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| format!("`{}`", value.to_toml()))
}

fn line(page: &mut String, cells: &[&str]) {
    for cell in cells {
        let _ = write!(page, "| {} ", cell.replace('|', "\\|"));
    }
    page.push_str("|\n");
}
