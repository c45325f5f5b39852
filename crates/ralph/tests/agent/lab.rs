//! A repository with specs in its inbox, and agents of every stage that follow a script.

use std::ops::Deref;

use ralph_testkit::{Run, TestProject, project};
use serde_json::Value;

use crate::plans::{Format, records, value};
use crate::repo::{Repo, until};
pub(crate) use crate::repo::{held, touch, wait_for};

/// Words by which the sim tells the prompts of the stages apart.
pub(crate) const PLAN: &str = "turn a spec into a plan";
pub(crate) const VERIFY: &str = "You verify one task";
pub(crate) const WHOLE: &str = "All tasks of a plan are claimed to be done";
pub(crate) const INVESTIGATE: &str = "You investigate one issue";

/// A planner's answer: one task.
pub(crate) const ONE_TASK: &str = r#"{ answer = { tasks = [{ key = "one", name = "Write one", accept = ["`cat work/*` prints it"] }] } }"#;
/// A planner's answer: two tasks.
pub(crate) const TWO_TASKS: &str = r#"{ answer = { tasks = [{ key = "one", name = "Write one", accept = ["one is there"] }, { key = "two", name = "Write two", accept = ["two is there"] }] } }"#;
/// Work that passes.
pub(crate) const GOOD: &str =
    r#"{ write = "work/{task}.txt", text = "{task} is done\n" }, { claim = "done" }"#;
/// Work that says that it cannot go on.
pub(crate) const BLOCKED: &str = r#"{ claim = "blocked", why = "there is no key" }"#;

/// A repository in which `ralph agent` works.
pub(crate) struct Lab(pub(crate) Repo);

impl Deref for Lab {
    type Target = Repo;
    fn deref(&self) -> &Repo {
        &self.0
    }
}

/// A repository with these specs, queued in this order; its agents do well.
pub(crate) fn lab(specs: &[&str]) -> Lab {
    Lab::inside(project!(), specs)
}

/// The same, on a disk in memory where there is one, for tests that write a great deal.
pub(crate) fn lab_in_memory(specs: &[&str]) -> Lab {
    let place = tempfile::Builder::new().prefix("ralph-test-").tempdir_in("/dev/shm");
    match place {
        Ok(place) => Lab::inside(TestProject::in_room(env!("CARGO_BIN_EXE_ralph"), place), specs),
        Err(_) => lab(specs),
    }
}

/// A rule of the sim for prompts with these words: more conditions, one a line, and what it does.
pub(crate) fn rule(when: &[&str], conditions: &str, steps: &str) -> String {
    format!("[[rule]]\nwhen = {when:?}\n{conditions}\nsteps = [{steps}]\n")
}

/// A rule for whoever writes code.
pub(crate) fn coder(conditions: &str, steps: &str) -> String {
    let others = [PLAN, VERIFY, WHOLE, INVESTIGATE];
    format!("[[rule]]\nunless = {others:?}\n{conditions}\nsteps = [{steps}]\n")
}

/// A rule for the planner of this spec: one task of this name.
pub(crate) fn planned(spec: &str, task: &str) -> String {
    let answer = format!(
        r#"{{ answer = {{ tasks = [{{ key = "one", name = "{task}", accept = ["x"] }}] }} }}"#
    );
    rule(&[PLAN, &format!("# {spec}")], "", &answer)
}

/// Rules by which the first attempt at this spec's task says `began`, and hangs.
pub(crate) fn hangs_once(spec: &str) -> String {
    let name = format!("Late {spec}");
    let hang = format!("{}, {{ hang = true }}", touch("began"));
    planned(spec, &name) + &coder(&format!("when = {name:?}\nattempt = 1"), &hang)
}

/// Rules by which the task of this spec cannot be done.
pub(crate) fn hopeless(spec: &str) -> String {
    let name = format!("Hopeless {spec}");
    planned(spec, &name) + &coder(&format!("when = {name:?}"), BLOCKED)
}

impl Lab {
    /// A repository in this project.
    pub(crate) fn inside(project: TestProject, specs: &[&str]) -> Self {
        let repo = Repo::new(project, Format::Jsonl, &[]);
        std::fs::remove_file(repo.path("ralph/plan.jsonl")).unwrap();
        let lab = Self(repo);
        for spec in specs {
            lab.write_spec(spec);
        }
        lab.commit("specs");
        lab.agents("");
        for spec in specs {
            lab.run(["inbox", "add", spec]).ok();
        }
        lab
    }

    /// With the real time, for waits.
    pub(crate) fn real_time(self) -> Self {
        let Repo { project, format, tasks } = self.0;
        Self(Repo { project: project.real_time(), format, tasks })
    }

    /// With a variable for every program.
    pub(crate) fn env(self, name: &str, value: &str) -> Self {
        let Repo { project, format, tasks } = self.0;
        Self(Repo { project: project.env(name, value), format, tasks })
    }

    /// Write a spec that wants something.
    pub(crate) fn write_spec(&self, spec: &str) {
        self.write(format!("ralph/specs/{spec}"), format!("# {spec}\n\nFiles in `work/`.\n"));
    }

    /// These rules first; then all agents do well: plans have one task, everything is accepted.
    pub(crate) fn agents(&self, rules: &str) -> &Self {
        let accept =
            r#"{ answer = { task_id = "{task}", verdict = "accept", reason = "I looked at it" } }"#;
        let satisfied = r#"{ answer = { satisfied = true, reason = "all of it is there" } }"#;
        let usual = [
            rule(&[PLAN], "", ONE_TASK),
            rule(&[VERIFY], "", accept),
            rule(&[WHOLE], "", satisfied),
            rule(&[INVESTIGATE], "", OUT_OF_SCOPE),
            coder("", GOOD),
        ];
        self.script(&format!("{rules}{}", usual.concat()));
        self
    }

    /// Run `ralph agent`.
    #[track_caller]
    pub(crate) fn agent<const N: usize>(&self, args: [&str; N]) -> Run {
        self.run(["agent"].into_iter().chain(args))
    }

    /// The records of the inbox.
    #[track_caller]
    pub(crate) fn inbox(&self) -> Vec<Value> {
        self.run(["query", "inbox"]).ok().json().as_array().unwrap().clone()
    }

    /// `SPEC STATUS` of each record.
    pub(crate) fn statuses(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let records = self.inbox().into_iter();
        records.map(|r| format!("{} {}", word(&r["spec"]), word(&r["status"]))).collect()
    }

    /// The record of a spec.
    #[track_caller]
    pub(crate) fn entry(&self, spec: &str) -> Value {
        let found = self.inbox().into_iter().find(|record| record["spec"] == spec);
        found.unwrap_or_else(|| panic!("{spec} is not in the inbox"))
    }

    /// Subjects of commits since the start, oldest first, without ralph's ledger.
    pub(crate) fn completed(&self) -> Vec<String> {
        let of_specs = |subject: &String| subject.starts_with("ralph: complete ");
        self.subjects().into_iter().filter(of_specs).collect()
    }

    /// The messages of stash entries, newest first.
    pub(crate) fn stashes(&self) -> Vec<String> {
        let list = self.ask_git(["stash", "list", "--format=%gs"]);
        list.lines().map(str::to_owned).collect()
    }

    /// The session file.
    #[track_caller]
    pub(crate) fn session(&self) -> Value {
        value(&self.read("ralph/.agent-session"))
    }

    /// Lines of all agent logs, without their times, in the order of the files' names.
    pub(crate) fn agent_log(&self) -> Vec<String> {
        let mut logs: Vec<_> = std::fs::read_dir(self.path("build/ralph-logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("agent-"))
            .collect();
        logs.sort();
        let text: String = logs.iter().map(|log| self.read(log)).collect();
        text.lines().map(|line| line.split_once("] ").unwrap().1.to_owned()).collect()
    }

    /// How often agents of a role have answered: `plan`, `verify` …
    pub(crate) fn asked(&self, role: &str) -> usize {
        let mine = |r: &Value| r["record"] == "answered" && r["role"] == role;
        self.journal().iter().filter(|r| mine(r)).count()
    }

    /// The records of the plan, if there is one.
    pub(crate) fn records(&self) -> Vec<Value> {
        if self.exists("ralph/plan.jsonl") { records(&self.plan()) } else { Vec::new() }
    }

    /// Wait until an agent is about to be asked for the `nth` time in this role.
    #[track_caller]
    pub(crate) fn until_asked(&self, role: &str, nth: usize) {
        let journal = self.path(".git/ralph/journal.jsonl");
        let role = format!("\"role\":\"{role}\"");
        until(|| {
            let text = std::fs::read_to_string(&journal).unwrap_or_default();
            let asking = |l: &&str| l.contains("\"record\":\"consulting\"") && l.contains(&role);
            text.lines().filter(asking).count() >= nth
        });
    }
}

const OUT_OF_SCOPE: &str =
    r#"{ answer = { outcome = "out_of_scope", reason = "a person has to decide that" } }"#;
