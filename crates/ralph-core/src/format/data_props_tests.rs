//! Promises of the two JSON formats for any document: what is not edited stays, byte for byte, and
//! what is edited reads back as the edit says.

use proptest::prelude::*;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};

use super::PlanCodec;
use super::deluxe::DeluxeCodec;
use super::implementation::ImplementationCodec;
use crate::json::{self, JsonNode};
use crate::plan::{Id, PlanEdit, Priority, Retirement, Task, TaskState};

const AT: &str = "2026-03-01T10:00:00Z";

/// A number that no JSON writer would spell this way.
const ODD: &str = "1.50E+03";

/// What happens to one task of a document.
#[derive(Clone, Debug)]
enum Op {
    Nothing,
    Update(Box<Task>),
    Retire(Retirement, Option<String>),
    Reject(String),
    AddBehind(Box<Task>),
}

type Ops = Vec<(Task, Op)>;

/// A document: tasks in one or more specs, what is to happen to each, and new ones for the end of
/// each spec; then what is foreign in it and how it is laid out.
#[derive(Clone, Debug)]
struct Case {
    specs: Vec<(Ops, Vec<Task>)>,
    foreign: Vec<(String, Value)>,
    layout: Layout,
}

#[derive(Clone, Copy, Debug)]
struct Layout {
    indent: Option<&'static str>,
    line_end: &'static str,
    bom: &'static str,
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[\\PC\n\r\t\"\\\\]{1,8}"]
}

fn lists() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(words(), 0..3)
}

fn states() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        Just(TaskState::Pending),
        Just(TaskState::Running),
        Just(TaskState::Accepted),
        Just(TaskState::Skipped),
        words().prop_map(TaskState::Blocked),
        prop::option::of(words()).prop_map(TaskState::Failed),
    ]
}

fn priorities() -> impl Strategy<Value = Option<Priority>> {
    prop::option::of(prop::sample::select(Priority::ALL.to_vec()))
}

/// A task without id and spec.
fn tasks() -> impl Strategy<Value = Task> {
    let texts = (words(), prop::option::of(words()), prop::option::of(words()));
    let numbers = (0..4_u32, prop::option::of(0..4_u32), any::<bool>());
    let ranks = (priorities(), priorities());
    (states(), texts, (lists(), lists(), lists()), numbers, ranks).prop_map(
        |(state, (name, notes, reject), (accept, deps, skills), (retries, max, docs), ranks)| {
            Task {
                name,
                state,
                notes,
                accept,
                deps: deps.into_iter().map(Id::new).collect(),
                priority: ranks.0,
                auto_priority: ranks.1,
                retries,
                max_retries: max,
                max_turns: max,
                timeout_ms: max.map(u64::from),
                skills: skills.clone(),
                libraries: skills,
                needs_docs: docs,
                parent: reject.as_deref().map(Id::from),
                done_at: reject.clone(),
                phase: reject.clone(),
                reject,
                ..Task::default()
            }
        },
    )
}

fn ops() -> impl Strategy<Value = Op> {
    let how = prop::sample::select(vec![
        Retirement::Accepted,
        Retirement::Failed,
        Retirement::Skipped,
        Retirement::Deleted,
    ]);
    prop_oneof![
        Just(Op::Nothing),
        tasks().prop_map(|task| Op::Update(Box::new(task))),
        (how, prop::option::of(words())).prop_map(|(how, reason)| Op::Retire(how, reason)),
        words().prop_map(Op::Reject),
        tasks().prop_map(|task| Op::AddBehind(Box::new(task))),
    ]
}

fn layouts() -> impl Strategy<Value = Layout> {
    let indents = prop::sample::select(vec![Some("  "), Some("    "), Some("\t"), None]);
    (indents, prop::sample::select(vec!["\n", "\r\n"]), prop::sample::select(vec!["", "\u{feff}"]))
        .prop_map(|(indent, line_end, bom)| Layout { indent, line_end, bom })
}

fn foreign() -> impl Strategy<Value = Vec<(String, Value)>> {
    let value = prop_oneof![
        Just(Value::from("@odd@")),
        words().prop_map(Value::from),
        lists().prop_map(Value::from),
        words().prop_map(|word| serde_json::json!({ word: [null, {}] })),
    ];
    prop::collection::vec((words().prop_map(|word| format!("x-{word}")), value), 0..3)
}

/// A document of up to `most` specs, with ids that are unique in it.
fn cases(most: usize) -> impl Strategy<Value = Case> {
    let spec =
        (prop::collection::vec((tasks(), ops()), 0..4), prop::collection::vec(tasks(), 0..2));
    (prop::collection::vec(spec, 1..=most), foreign(), layouts()).prop_map(
        move |(mut specs, foreign, layout)| {
            // A spec that is not in the file yet goes to its end.
            specs.sort_by_key(|(old, _)| old.is_empty());
            for (s, (old, new)) in specs.iter_mut().enumerate() {
                let claim = |task: &mut Task, id: String| {
                    task.id = Id::new(id);
                    task.spec = (most > 1).then(|| format!("s{s}"));
                };
                for (i, (task, op)) in old.iter_mut().enumerate() {
                    claim(task, format!("s{s}-{i}"));
                    match op {
                        Op::Update(new) => claim(new, format!("s{s}-{i}")),
                        Op::AddBehind(new) => claim(new, format!("s{s}-behind-{i}")),
                        _ => {}
                    }
                }
                for (i, task) in new.iter_mut().enumerate() {
                    claim(task, format!("s{s}-end-{i}"));
                }
            }
            Case { specs, foreign, layout }
        },
    )
}

impl Case {
    /// The document, written by this test: only the members of tasks come from the codec.
    fn text(&self, codec: &dyn PlanCodec) -> String {
        let tasks = self.specs.iter().flat_map(|(old, _)| old.iter().map(|(task, _)| task.clone()));
        let adds: Vec<PlanEdit> =
            tasks.map(|task| PlanEdit::AddTask { task, after: None }).collect();
        let plain = codec.edit(&codec.empty("", "then"), &adds).unwrap();
        let mut root: Value = serde_json::from_str(&plain).unwrap();
        self.add_foreign(&mut root);
        let text = match self.layout.indent {
            None => root.to_string(),
            Some(indent) => {
                let mut out = Vec::new();
                let format = PrettyFormatter::with_indent(indent.as_bytes());
                let mut writer = Serializer::with_formatter(&mut out, format);
                serde::Serialize::serialize(&root, &mut writer).unwrap();
                String::from_utf8(out).unwrap()
            }
        };
        let text = text.replace("\"@odd@\"", ODD).replace('\n', self.layout.line_end);
        format!("{}{text}{}", self.layout.bom, self.layout.line_end)
    }

    /// Unknown members in every object, in front of and behind the known ones.
    fn add_foreign(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.add_foreign(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|value| self.add_foreign(value));
                let (front, back) = self.foreign.split_at(self.foreign.len() / 2);
                let old = std::mem::take(members);
                let all = front.iter().cloned().chain(old).chain(back.iter().cloned());
                *members = all.collect::<Map<_, _>>();
            }
            _ => {}
        }
    }

    fn edits(&self) -> Vec<PlanEdit> {
        let mut edits = Vec::new();
        for (old, new) in &self.specs {
            for (task, op) in old {
                let id = task.id.clone();
                let at = AT.to_owned();
                edits.extend(match op.clone() {
                    Op::Nothing => None,
                    Op::Update(new) => Some(PlanEdit::UpdateTask(*new)),
                    Op::Retire(how, reason) => Some(PlanEdit::Retire { id, how, reason, at }),
                    Op::Reject(reason) => Some(PlanEdit::Reject { id, reason, at }),
                    Op::AddBehind(new) => Some(PlanEdit::AddTask { task: *new, after: Some(id) }),
                });
            }
            let adds = new.iter().cloned().map(|task| PlanEdit::AddTask { task, after: None });
            edits.extend(adds);
        }
        edits
    }

    /// The tasks before the edits.
    fn before(&self) -> Vec<Task> {
        self.specs.iter().flat_map(|(old, _)| old.iter().map(|(task, _)| task.clone())).collect()
    }

    /// The tasks after the edits, worked out from what the words mean.
    fn after(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for (old, new) in &self.specs {
            for (task, op) in old {
                let task = task.clone();
                let done_at = match (&task.state, &task.done_at) {
                    (TaskState::Accepted, Some(at)) => Some(at.clone()),
                    _ => Some(AT.to_owned()),
                };
                match op.clone() {
                    Op::Nothing => tasks.push(task),
                    Op::Update(new) => tasks.push(*new),
                    Op::AddBehind(new) => tasks.extend([task, *new]),
                    Op::Reject(reason) => tasks.push(Task {
                        state: TaskState::Pending,
                        retries: task.retries + 1,
                        reject: Some(reason),
                        done_at: None,
                        ..task
                    }),
                    Op::Retire(Retirement::Deleted, _) => {}
                    Op::Retire(Retirement::Accepted, _) => {
                        tasks.push(Task { state: TaskState::Accepted, done_at, ..task });
                    }
                    Op::Retire(Retirement::Failed, reason) => {
                        tasks.push(Task { state: TaskState::Failed(reason), ..task });
                    }
                    Op::Retire(Retirement::Skipped, _) => {
                        tasks.push(Task { state: TaskState::Skipped, ..task });
                    }
                }
            }
            tasks.extend(new.iter().cloned());
        }
        tasks
    }
}

/// The tasks of a text, without their lines.
fn read(codec: &dyn PlanCodec, text: &str) -> Vec<Task> {
    let tasks = codec.parse(text).unwrap().tasks;
    tasks.into_iter().map(|task| Task { line: 0, ..task }).collect()
}

/// The unknown members of a text as they are spelled, with the id of the object they are in.
fn foreign_members(text: &str) -> Vec<(String, &str)> {
    let root = json::parse_file(text).unwrap();
    let mut found = Vec::new();
    let mut todo: Vec<&JsonNode> = vec![&root];
    while let Some(node) = todo.pop() {
        let id = node.get("id").map_or("", |id| id.raw(text)).to_owned();
        for member in node.members().unwrap_or_default() {
            match member.key.starts_with("x-") {
                true => found.push((id.clone(), &text[member.span()])),
                false => todo.push(&member.value),
            }
        }
        todo.extend(node.items().unwrap_or_default());
    }
    found.sort();
    found
}

/// The promises for one document.
fn check(codec: &dyn PlanCodec, case: &Case) -> Result<(), TestCaseError> {
    let text = case.text(codec);
    prop_assert_eq!(read(codec, &text), case.before());
    prop_assert_eq!(&codec.edit(&text, &[]).unwrap(), &text);
    let same: Vec<PlanEdit> = case.before().into_iter().map(PlanEdit::UpdateTask).collect();
    prop_assert_eq!(&codec.edit(&text, &same).unwrap(), &text);

    let out = codec.edit(&text, &case.edits()).unwrap();
    prop_assert_eq!(read(codec, &out), case.after());
    let deleted: Vec<String> = case
        .before()
        .iter()
        .filter(|task| !case.after().iter().any(|kept| kept.id == task.id))
        .map(|task| format!("\"{}\"", task.id))
        .collect();
    let mut expected = foreign_members(&text);
    expected.retain(|(id, _)| !deleted.contains(id));
    prop_assert_eq!(foreign_members(&out), expected);

    if case.layout.line_end == "\r\n" {
        prop_assert_eq!(out.matches('\n').count(), out.matches("\r\n").count());
    }
    prop_assert_eq!(case.layout.indent.is_none(), out.trim_end().lines().count() == 1);
    Ok(())
}

proptest! {
    #[test]
    fn edits_of_plan_json_do_what_they_say_and_nothing_else(case in cases(1)) {
        check(&DeluxeCodec, &case)?;
    }

    #[test]
    fn edits_of_implementation_json_do_what_they_say_and_nothing_else(case in cases(3)) {
        check(&ImplementationCodec, &case)?;
        let text = case.text(&ImplementationCodec);
        let out = ImplementationCodec.edit(&text, &case.edits()).unwrap();
        let specs = |text: &str| -> Vec<(String, Option<i64>)> {
            let specs = ImplementationCodec.parse(text).unwrap().specs;
            specs.into_iter().map(|spec| (spec.id, spec.priority)).collect()
        };
        prop_assert!(specs(&out).starts_with(&specs(&text)));
    }

    #[test]
    fn a_cut_file_is_an_error_and_never_a_panic(case in cases(2), cut in any::<prop::sample::Index>()) {
        for codec in [&DeluxeCodec as &dyn PlanCodec, &ImplementationCodec] {
            let text = case.text(codec);
            let end = text.trim_end().len() - 1;
            let cut = (0..=cut.index(end)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            prop_assert!(codec.parse(&text[..cut]).is_err());
            prop_assert!(codec.edit(&text[..cut], &case.edits()).is_err());
        }
    }

    #[test]
    fn no_text_makes_them_panic(text in "[\\[\\]{}\":,a-z0-9 \\\\\n]{0,40}", name in "[a-z.]{0,8}") {
        for codec in [&DeluxeCodec as &dyn PlanCodec, &ImplementationCodec] {
            if codec.parse(&text).is_ok() {
                prop_assert_eq!(codec.edit(&text, &[]).unwrap(), text.clone());
            }
        }
        if let Err(error) = super::detect(&name, &text) {
            prop_assert!(error.message.contains("expected"));
        }
    }
}
