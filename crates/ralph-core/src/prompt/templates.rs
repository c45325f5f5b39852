//! Templates: embedded, and overridden by files.
//!
//! An override is tried when it is loaded, with a value for every variable, so that a slip shows
//! before the first attempt and not in the middle of a night.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use super::role_values::{ROLE_VARIABLES, sample_role_values};
use super::stage_values::{STAGE_VARIABLES, sample_stage_values};
use super::values::{VARIABLES, coding_values};
use super::{markdown, sample};
use crate::text::nearest;

/// Longest override, in bytes: more is no prompt.
const LONGEST: usize = 256 * 1024;

/// Functions of the template language itself.
const FUNCTIONS: [&str; 4] = ["debug", "dict", "namespace", "range"];

macro_rules! templates {
    ($( $(#[$meta:meta])* $variant:ident = $file:literal, )+) => {
        /// Template of a prompt or of one of its sections.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum PromptTemplate { $( $(#[$meta])* $variant, )+ }

        /// List of all templates.
        pub const TEMPLATES: &[PromptTemplate] = &[$( PromptTemplate::$variant, )+];

        impl PromptTemplate {
            /// The name of the file that overrides it.
            pub fn file_name(self) -> &'static str {
                match self { $( Self::$variant => $file, )+ }
            }

            /// Return the text that is built into ralph.
            pub fn embedded(self) -> &'static str {
                match self { $( Self::$variant => include_str!(concat!("../../prompts/", $file)), )+ }
            }
        }
    };
}

templates! {
    /// `## Current Task` for plan.jsonl and plan.json.
    Task = "task.md",
    /// `## Current Task` for implementation.json.
    TaskImplementation = "task-implementation.md",
    /// `## Current Task` for progress.md.
    TaskProgress = "task-progress.md",
    /// The end of `## Current Task` for every format: notes, the user's files, gates.
    Conditions = "conditions.md",
    /// `## Failure Context`.
    Failure = "failure.md",
    /// `## Retrieved Memory`.
    Memory = "memory.md",
    /// `## Previous Handoff`.
    Handoff = "handoff.md",
    /// `## Previous Handoff` as long as there is none.
    FirstIteration = "first-iteration.md",
    /// `## Output Instructions` for plan.jsonl and plan.json.
    Output = "coding-prompt-footer.md",
    /// `## Output Instructions` for implementation.json.
    OutputImplementation = "output-implementation.md",
    /// `## Output Instructions` for progress.md.
    OutputProgress = "output-progress.md",
    /// Instructions for the knowledge indexer.
    Indexer = "knowledge-index-prompt.md",
    /// Instructions for the context agent before an attempt.
    ContextPrep = "context-prep-prompt.md",
    /// Instructions for the context agent after an attempt.
    ContextPost = "context-post-prompt.md",
    /// Instructions for a reviewing pass that has no prompt of its own.
    Review = "review-agent-prompt.md",
    /// Instructions for turning a spec into tasks.
    Plan = "plan-prompt.md",
    /// Instructions for turning an issue into tasks.
    Investigate = "investigate-prompt.md",
    /// Instructions for verifying a task that is claimed done.
    Verify = "verify-prompt.md",
    /// Instructions for verifying a spec as a whole.
    VerifySpec = "verify-spec-prompt.md",
    /// Instructions for breaking down a task or an issue whose run was killed.
    Decompose = "decompose-prompt.md",
}

impl PromptTemplate {
    /// The template that a file of this name overrides. `coding-prompt.md` stands in for a missing
    /// `coding-prompt-footer.md`, as it always has.
    pub fn of_file(name: &str) -> Option<Self> {
        let name = if name == "coding-prompt.md" { Self::Output.file_name() } else { name };
        TEMPLATES.iter().copied().find(|t| t.file_name() == name)
    }

    /// The variables that it sees, and what they hold.
    pub fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self.audience() {
            TemplateAudience::Role => &ROLE_VARIABLES,
            TemplateAudience::Stage => &STAGE_VARIABLES,
            TemplateAudience::Coding => &VARIABLES,
        }
    }

    /// A value for each of them.
    fn sample(self) -> Value {
        match self.audience() {
            TemplateAudience::Role => sample_role_values(),
            TemplateAudience::Stage => sample_stage_values(),
            TemplateAudience::Coding => coding_values(&sample::full()),
        }
    }

    fn audience(self) -> TemplateAudience {
        match self {
            Self::Indexer | Self::ContextPrep | Self::ContextPost | Self::Review => {
                TemplateAudience::Role
            }
            Self::Plan | Self::Investigate | Self::Verify | Self::VerifySpec | Self::Decompose => {
                TemplateAudience::Stage
            }
            _ => TemplateAudience::Coding,
        }
    }
}

/// Whose prompts a template is for, which decides about its variables.
enum TemplateAudience {
    Coding,
    Role,
    Stage,
}

/// Error in a template, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TemplateError {
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    pub message: String,
}

/// Templates of a project: those built in, and those that the project overrides.
#[derive(Clone, Debug)]
pub struct PromptTemplates {
    environment: Environment<'static>,
    /// The files of those that are overridden.
    files: BTreeMap<PromptTemplate, String>,
}

impl Default for PromptTemplates {
    fn default() -> Self {
        Self::embedded()
    }
}

impl PromptTemplates {
    /// The embedded ones, which are parsed once.
    pub fn embedded() -> Self {
        static PARSED: LazyLock<PromptTemplates> = LazyLock::new(PromptTemplates::parse_embedded);
        PARSED.clone()
    }

    fn parse_embedded() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_debug(true);
        // Lines that hold only a tag leave no line behind.
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        for template in TEMPLATES {
            // That each of them parses is tested; one that does not is missed when it is rendered.
            let _parsed = environment.add_template(template.file_name(), template.embedded());
        }
        Self { environment, files: BTreeMap::new() }
    }

    /// Put the text of `file` in a template's place, when it works.
    pub fn replace(
        &mut self,
        template: PromptTemplate,
        file: &str,
        text: &str,
    ) -> Result<(), TemplateError> {
        if text.len() > LONGEST {
            return Err(too_long(file));
        }
        let name = template.file_name();
        let before = self.files.insert(template, file.to_owned());
        let tried = self
            .environment
            .add_template_owned(name, text.to_owned())
            .map_err(|error| self.explain(template, &error))
            .and_then(|()| self.check(template, file, text));
        if tried.is_err() {
            // The old file's text is gone; the embedded one is always right.
            drop(before);
            self.files.remove(&template);
            let _parsed = self.environment.add_template(name, template.embedded());
        }
        tried
    }

    /// The file that overrides a template.
    pub fn file(&self, template: PromptTemplate) -> Option<&str> {
        self.files.get(&template).map(String::as_str)
    }

    /// The text of a file that is no override, as a template of another role.
    pub(crate) fn own(
        &self,
        file: &str,
        text: &str,
        values: Value,
    ) -> Result<String, TemplateError> {
        if text.len() > LONGEST {
            return Err(too_long(file));
        }
        let rendered = self.environment.render_named_str(file, text, values);
        rendered.map_err(|error| explain(file, &ROLE_VARIABLES, &error))
    }

    /// A template with these values in it.
    pub(crate) fn render(
        &self,
        template: PromptTemplate,
        values: &Value,
    ) -> Result<String, TemplateError> {
        let render = || self.environment.get_template(template.file_name())?.render(values.clone());
        render().map_err(|error| self.explain(template, &error))
    }

    fn check(&self, template: PromptTemplate, file: &str, text: &str) -> Result<(), TemplateError> {
        let sample = template.sample();
        if let Ok(parsed) = self.environment.get_template(template.file_name()) {
            let mut names: Vec<String> = parsed.undeclared_variables(true).into_iter().collect();
            names.sort();
            if let Some(name) = names.iter().find(|name| !is_known(name, &sample)) {
                let line = text.lines().position(|l| l.contains(name.as_str())).unwrap_or(0) + 1;
                let message = unknown(name, template.variables());
                return Err(TemplateError { file: file.to_owned(), line, message });
            }
        }
        self.render(template, &sample).map(drop)
    }

    fn explain(&self, template: PromptTemplate, error: &Error) -> TemplateError {
        let file = self.file(template).unwrap_or(template.file_name());
        explain(file, template.variables(), error)
    }
}

fn explain(file: &str, variables: &[(&str, &str)], error: &Error) -> TemplateError {
    let what = error.range().and_then(|range| error.template_source()?.get(range));
    let message = match (error.kind(), what) {
        (ErrorKind::UndefinedError, Some(what)) => unknown(what, variables),
        _ => markdown::one_line(error.detail().unwrap_or(&error.kind().to_string())),
    };
    TemplateError { file: file.to_owned(), line: error.line().unwrap_or(1), message }
}

fn too_long(file: &str) -> TemplateError {
    let message = format!("too long for a prompt: more than {LONGEST} bytes");
    TemplateError { file: file.to_owned(), line: 1, message }
}

fn is_known(path: &str, sample: &Value) -> bool {
    let mut names = path.split('.');
    let Some(first) = names.next() else { return false };
    if FUNCTIONS.contains(&first) {
        return true;
    }
    let mut value = sample.clone();
    std::iter::once(first).chain(names).all(|name| {
        value = value.get_attr(name).unwrap_or_default();
        !value.is_undefined()
    })
}

fn unknown(name: &str, variables: &[(&str, &str)]) -> String {
    let known: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let first = name.split('.').next().unwrap_or(name);
    let fields = variables.iter().find(|(known, _)| *known == first);
    match fields {
        Some((_, what)) => format!("there is no `{name}`; `{first}` is: {what}"),
        None => {
            let meant = nearest(first, known.iter().copied())
                .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            format!("there is no variable `{name}`{meant}; there are: {}", known.join(", "))
        }
    }
}
