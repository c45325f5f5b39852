//! A repository with a spec, and agents of every stage that follow a script.

use std::ops::Deref;
use std::path::PathBuf;

use ralph_testkit::{Run, TestProject, project};
use serde_json::{Value, json};

use crate::plans::{Format, records, value};
use crate::repo::{GOOD, Repo};

/// The name of the spec.
pub(crate) const SPEC: &str = "work.md";

/// What it says.
const TEXT: &str = "# Work\n\nThere are files in `work/`, one for each thing that is wanted.\n";

/// Words by which the sim tells the prompts of the stages apart.
const PLAN: &str = "turn a spec into a plan";
const INVESTIGATE: &str = "You investigate one issue";
const VERIFY: &str = "You verify one task";
const WHOLE: &str = "as a whole is satisfied";
const DECOMPOSE: &str = "was killed because";
const BUILD: &str = "## Current Task";

/// A repository in which `ralph construct` works.
pub(crate) struct Lab(pub(crate) Repo);

impl Deref for Lab {
    type Target = Repo;
    fn deref(&self) -> &Repo {
        &self.0
    }
}

/// A repository with a spec, without a plan, whose agents do well.
pub(crate) fn lab() -> Lab {
    Lab::with("")
}

/// The same with these records in the plan.
pub(crate) fn planned(records: &[Value]) -> Lab {
    let spec = json!({ "t": "spec", "spec": SPEC });
    let lines = [&spec].into_iter().chain(records).map(|record| format!("{record}\n"));
    Lab::with(&lines.collect::<String>())
}

/// A task of the spec.
pub(crate) fn task(id: &str) -> Value {
    json!({ "t": "task", "id": id, "spec": SPEC, "name": format!("Do {id}"), "s": "p",
            "accept": format!("`cat work/{id}.txt` prints it") })
}

/// A task that is claimed to be done.
pub(crate) fn done(id: &str) -> Value {
    with(task(id), json!({ "s": "d", "done_at": "2025-01-20T10:00:00Z" }))
}

/// A record with more fields.
pub(crate) fn with(mut record: Value, more: Value) -> Value {
    let (Some(all), Value::Object(more)) = (record.as_object_mut(), more) else {
        panic!("not an object")
    };
    all.extend(more);
    record
}

/// An issue of the spec.
pub(crate) fn issue(id: &str, desc: &str) -> Value {
    json!({ "t": "issue", "id": id, "spec": SPEC, "desc": desc })
}

/// A new task in an agent's answer.
pub(crate) fn new(key: &str, name: &str) -> Value {
    json!({ "key": key, "name": name, "accept": [format!("`cat work/{key}.txt` prints it")] })
}

impl Lab {
    fn with(plan: &str) -> Self {
        Self::inside(project!(), plan)
    }

    /// A repository in this project, with this plan.
    pub(crate) fn inside(project: TestProject, plan: &str) -> Self {
        let repo = Repo::new(project, Format::Jsonl, &[]);
        repo.write("ralph/specs/work.md", TEXT);
        match plan {
            "" => std::fs::remove_file(repo.path("ralph/plan.jsonl")).unwrap(),
            plan => repo.write("ralph/plan.jsonl", plan),
        }
        repo.commit("spec");
        let lab = Self(repo);
        lab.agents("");
        lab
    }

    /// With the real time, for waits.
    pub(crate) fn real_time(self) -> Self {
        let Repo { project, format, tasks } = self.0;
        Self(Repo { project: project.real_time(), format, tasks })
    }

    /// These rules first; then all agents do well: plans have two tasks, everything is accepted.
    pub(crate) fn agents(&self, rules: &str) -> &Self {
        let plan = json!({ "tasks": [new("one", "Write one"), new("two", "Write two")] });
        let usual = [
            plans(plan),
            investigates("", json!({ "outcome": "out_of_scope", "reason": "it is fine as it is" })),
            accepts(),
            satisfied(),
            decomposes(
                "",
                json!({ "tasks": [new("a", "Do the first half of it"),
                                              new("b", "Do the second half of it")] }),
            ),
            builds("", GOOD),
        ];
        self.script(&format!("{rules}{}", usual.concat()));
        self
    }

    /// Run `ralph construct` on the spec.
    #[track_caller]
    pub(crate) fn construct<const N: usize>(&self, args: [&str; N]) -> Run {
        self.run(["construct", SPEC].into_iter().chain(args))
    }

    /// The records of the plan.
    pub(crate) fn records(&self) -> Vec<Value> {
        records(&self.plan())
    }

    /// Those of one type.
    pub(crate) fn of_type(&self, t: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["t"] == t).collect()
    }

    /// The live task or issue with this id.
    #[track_caller]
    pub(crate) fn item(&self, id: &str) -> Value {
        let live = |r: &Value| (r["t"] == "task" || r["t"] == "issue") && r["id"] == id;
        self.records().into_iter().find(live).unwrap_or_else(|| panic!("{id} is not in the plan"))
    }

    /// The live task with this name.
    #[track_caller]
    pub(crate) fn named(&self, name: &str) -> Value {
        let found = self.of_type("task").into_iter().find(|task| task["name"] == name);
        found.unwrap_or_else(|| panic!("no task {name:?} in\n{}", self.plan()))
    }

    /// Names of accepted tasks, in the order of their acceptance.
    pub(crate) fn accepted(&self) -> Vec<String> {
        let stones = self.of_type("accept").into_iter();
        stones.filter_map(|stone| stone["name"].as_str().map(str::to_owned)).collect()
    }

    /// Whether the spec has its accept record.
    pub(crate) fn is_satisfied(&self) -> bool {
        self.of_type("accept").iter().any(|r| r["spec"] == SPEC && r["id"].is_null())
    }

    /// What the agents of a role were asked about, in the order in which they ended.
    pub(crate) fn asked(&self, role: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mine = |r: &Value| r["record"] == "answered" && r["role"] == role;
        self.journal().iter().filter(|r| mine(r)).map(|r| text(&r["item"])).collect()
    }

    /// The tasks that were worked on, in order.
    pub(crate) fn built(&self) -> Vec<String> {
        let started = self.journal().into_iter().filter(|r| r["record"] == "attempt_started");
        started.map(|r| r["task_id"].as_str().unwrap().to_owned()).collect()
    }

    /// The ended stages of the last run, `ITERATION STAGE` each.
    pub(crate) fn stages(&self) -> Vec<String> {
        let mut iteration = 0;
        let mut stages = Vec::new();
        for record in self.journal() {
            match record["record"].as_str().unwrap() {
                "construct_started" => stages.clear(),
                "iteration_started" => iteration = record["iteration"].as_u64().unwrap(),
                "stage_ended" => {
                    stages.push(format!("{iteration} {}", record["stage"].as_str().unwrap()))
                }
                _ => {}
            }
        }
        stages
    }

    /// What the journal says about the ended stages of the last run.
    pub(crate) fn stage_ends(&self) -> Vec<Value> {
        let journal = self.journal();
        let last = journal.iter().rposition(|r| r["record"] == "construct_started").unwrap();
        let ended = journal[last..].iter().filter(|r| r["record"] == "stage_ended");
        ended.cloned().collect()
    }

    /// The logs of a stage, or their prompts.
    pub(crate) fn logs(&self, part: &str, end: &str) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(self.path("build/ralph-logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name.contains(part) && name.ends_with(end)
            })
            .collect();
        found.sort();
        found
    }

    /// The one prompt of an agent.
    #[track_caller]
    pub(crate) fn prompt_of(&self, part: &str) -> String {
        let found = self.logs(part, ".prompt.md");
        assert_eq!(found.len(), 1, "prompts of {part}: {found:?}");
        self.read(&found[0])
    }

    /// What `ralph query` says.
    #[track_caller]
    pub(crate) fn query(&self, what: &str) -> String {
        self.run(["query", what]).ok().stdout.trim_end().to_owned()
    }

    /// The events of `--json`, one a line.
    pub(crate) fn told(run: &Run) -> Vec<Value> {
        run.stdout.lines().map(value).collect()
    }
}

/// A rule of the sim for the agents of a role. A condition `with = "…"` is one more text that their
/// prompt has.
fn rule(when: &str, conditions: &str, steps: &str) -> String {
    let (mut all, mut others) = (vec![format!("{when:?}")], Vec::new());
    for line in conditions.lines() {
        match line.strip_prefix("with = ") {
            Some(text) => all.push(text.to_owned()),
            None => others.push(line),
        }
    }
    let (all, others) = (all.join(", "), others.join("\n"));
    format!("[[rule]]\nwhen = [{all}]\n{others}\nsteps = [{steps}]\n")
}

/// The planner does this.
pub(crate) fn planner(conditions: &str, steps: &str) -> String {
    rule(PLAN, conditions, steps)
}

/// The planner answers with this.
pub(crate) fn plans(answer: Value) -> String {
    planner("", &answers(&answer))
}

/// Investigators do this.
pub(crate) fn investigator(conditions: &str, steps: &str) -> String {
    rule(INVESTIGATE, conditions, steps)
}

/// Investigators answer with this.
pub(crate) fn investigates(conditions: &str, answer: Value) -> String {
    investigator(conditions, &answers(&answer))
}

/// Verifiers of tasks do this.
pub(crate) fn verifier(conditions: &str, steps: &str) -> String {
    rule(VERIFY, conditions, steps)
}

/// Verifiers of tasks answer with this.
pub(crate) fn verifies(conditions: &str, answer: Value) -> String {
    let answer = with(json!({ "task_id": "{task}" }), answer);
    verifier(conditions, &answers(&answer))
}

/// Every verifier accepts.
pub(crate) fn accepts() -> String {
    verifies("", json!({ "verdict": "accept", "reason": "I looked at it" }))
}

/// Verifiers reject.
pub(crate) fn rejects(conditions: &str) -> String {
    verifies(conditions, json!({ "verdict": "reject", "reason": "an edge case is missing" }))
}

/// Whoever looks at the whole spec does this.
pub(crate) fn judge(conditions: &str, steps: &str) -> String {
    rule(WHOLE, conditions, steps)
}

/// Whoever looks at the whole spec answers with this.
pub(crate) fn judges(conditions: &str, answer: Value) -> String {
    judge(conditions, &answers(&answer))
}

/// The whole spec is satisfied.
pub(crate) fn satisfied() -> String {
    judges("", json!({ "satisfied": true, "reason": "all of it is there" }))
}

/// Whoever breaks work down does this.
pub(crate) fn decomposer(conditions: &str, steps: &str) -> String {
    rule(DECOMPOSE, conditions, steps)
}

/// Whoever breaks work down answers with this.
pub(crate) fn decomposes(conditions: &str, answer: Value) -> String {
    decomposer(conditions, &answers(&answer))
}

/// Whoever writes code does this.
pub(crate) fn builds(conditions: &str, steps: &str) -> String {
    rule(BUILD, conditions, steps)
}

/// The step that answers with this value.
pub(crate) fn answers(value: &Value) -> String {
    format!("{{ answer = {} }}", toml(value))
}

/// A JSON value as an inline value of TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| format!("{key} = {}", toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
