//! The control plane: what an operator asks of a running loop, as values.
//!
//! # Theory of operation
//!
//! ```text
//! commands.json --Queue--> entries --read--> Command --effect(state)--> Effect
//! ```
//!
//! The file is a queue that anybody may write: `{"pending": [{"command": "pause"}, …]}`. Reading
//! forgives what can be understood and names what cannot; whatever else is in the file stays in it.
//! Every entry has an id before it is looked at, so that the journal can say which ones were carried
//! out. [`effect`] decides what a command means at this moment; the loop does it.

mod queue;

pub use queue::{CommandQueue, QueueError, QueuedCommand};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{self, Config, ConfigFlag, flag_layer};
use crate::plan::Id;
use crate::text::clip;
use crate::text::shell_word;
use crate::word_enum::word_enum;

/// Longest note that a prompt is given, in characters.
const LONGEST_NOTE: usize = 4000;

/// Settings that may be changed while a loop runs: the name of the variable, and our key.
pub const SETTINGS: [(&str, &str); 6] = [
    ("RALPH_VALIDATION_STRATEGY", "gate_strategy"),
    ("RALPH_COMPACTION_INTERVAL", "memory.compaction_interval"),
    ("RALPH_COMPACTION_THRESHOLD_BYTES", "memory.compaction_threshold_bytes"),
    ("RALPH_DEFAULT_MAX_TURNS", "max_turns"),
    ("RALPH_MIN_DELAY_SECONDS", "min_delay"),
    ("RALPH_MODE", "mode"),
];

/// Command of an operator to a running loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopCommand {
    /// Start nothing new.
    Pause,
    /// Continue after a pause.
    Resume,
    /// Skip a task.
    Skip(Id),
    /// Add a note to the next prompt.
    Note(String),
    /// End the loop after the attempt that runs.
    Stop,
    /// End the attempt that runs, now.
    KillAttempt,
    /// Retry a task.
    Retry(Id),
    /// Change a setting of the running loop and of `ralph.toml`.
    Set(CheckedSetting),
}

/// A change of a setting that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedSetting {
    /// Name of the key, one of [`SETTINGS`].
    pub key: &'static str,
    /// The value, as on a command line.
    pub value: String,
}

impl CheckedSetting {
    /// A setting by our key or by the name of its variable, and its value.
    pub fn new(name: &str, value: &str) -> Result<Self, String> {
        let Some((variable, key)) =
            SETTINGS.into_iter().find(|(variable, key)| name == *variable || name == *key)
        else {
            let known: Vec<&str> = SETTINGS.iter().map(|(_, key)| *key).collect();
            let name = clip(name, 60);
            return Err(format!("`{name}` cannot be changed here; {} can", known.join(", ")));
        };
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if value.is_empty() || !value.chars().all(fine) {
            return Err(format!("the value of `{key}` may have letters, digits, `_` and `-`"));
        }
        // The variable is named after its unit.
        let bare = value.chars().all(|c| c.is_ascii_digit());
        let seconds = variable.ends_with("_SECONDS") && bare;
        let value = if seconds { format!("{value}s") } else { value.to_owned() };
        let setting = Self { key, value };
        setting.apply(&mut Config::default())?;
        Ok(setting)
    }

    /// Apply the setting to a configuration.
    pub fn apply(&self, config: &mut Config) -> Result<(), String> {
        let flag = ConfigFlag { name: self.key, key: self.key, value: self.value.clone() };
        let layer = flag_layer(&[flag]).map_err(|errors| errors.to_string())?;
        config::apply(config, &layer).ok_or_else(|| format!("`{}` cannot be set", self.key))
    }
}

word_enum! {
    /// Kind of a command, without its argument.
    CommandKind {
        /// Start nothing new.
        Pause = "pause",
        /// Continue after a pause.
        Resume = "resume",
        /// Skip a task.
        SkipTask = "skip-task",
        /// Add a note to the next prompt.
        InjectNote = "inject-note",
        /// End the loop after the attempt that runs.
        Stop = "stop",
        /// End the attempt that runs.
        KillAttempt = "kill-attempt",
        /// Retry a task.
        RetryTask = "retry-task",
        /// Change a setting.
        SetSetting = "set-setting",
    }
}

/// A command that the loop has found, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorCommand {
    /// Unique id of the command.
    pub id: String,
    /// Kind of the command.
    pub command: CommandKind,
    /// Text, task or setting of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Effect of the command and its time, in words. Empty when nobody needs to know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub promise: String,
    /// Why nothing comes of it, when nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
    /// Command line for a person who still wants the effect.
    /// Set when a backend may have written the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl OperatorCommand {
    /// The id that a signal of the operating system gets.
    const SIGNAL: &str = "signal-";

    /// The stop that a signal asks for.
    pub fn of_signal(id: &str) -> Self {
        Self::new(format!("{}{id}", Self::SIGNAL), &LoopCommand::Stop)
    }

    /// Create the journal's form of a command with this id.
    pub fn new(id: impl Into<String>, command: &LoopCommand) -> Self {
        Self {
            id: id.into(),
            command: command.kind(),
            argument: command.argument(),
            promise: String::new(),
            ignored: None,
            next: None,
        }
    }

    /// Whether a signal asked for it.
    pub fn is_signal(&self) -> bool {
        self.id.starts_with(Self::SIGNAL)
    }

    /// The command with its argument, in the words of the control file.
    pub fn what(&self) -> String {
        let argument = self.argument.as_ref().map(|text| format!(" {text}"));
        format!("{}{}", self.command.as_str(), argument.unwrap_or_default())
    }
}

impl LoopCommand {
    /// Return the kind of the command.
    pub fn kind(&self) -> CommandKind {
        match self {
            Self::Pause => CommandKind::Pause,
            Self::Resume => CommandKind::Resume,
            Self::Skip(_) => CommandKind::SkipTask,
            Self::Note(_) => CommandKind::InjectNote,
            Self::Stop => CommandKind::Stop,
            Self::KillAttempt => CommandKind::KillAttempt,
            Self::Retry(_) => CommandKind::RetryTask,
            Self::Set(_) => CommandKind::SetSetting,
        }
    }

    /// The word in the control file.
    pub fn word(&self) -> &'static str {
        self.kind().as_str()
    }

    /// Return the task, text or setting of the command.
    pub fn argument(&self) -> Option<String> {
        match self {
            Self::Pause | Self::Resume | Self::Stop | Self::KillAttempt => None,
            Self::Skip(task) | Self::Retry(task) => Some(task.to_string()),
            Self::Note(text) => Some(text.clone()),
            Self::Set(CheckedSetting { key, value }) => Some(format!("{key} = {value}")),
        }
    }

    /// Return the command line that a person types for this command.
    /// While a backend works, the file alone cannot ask for commands that decide about work, or about
    /// the way in which work is judged and counted. `None` means that the file is enough.
    pub fn for_people(&self) -> Option<String> {
        match self {
            Self::Pause | Self::Resume | Self::Note(_) | Self::Stop => None,
            Self::KillAttempt => Some("ralph kill-attempt".to_owned()),
            Self::Skip(task) => Some(format!("ralph skip {}", shell_word(task.as_str()))),
            Self::Retry(task) => Some(format!("ralph task retry {}", shell_word(task.as_str()))),
            Self::Set(CheckedSetting { key, value }) => {
                Some(format!("ralph config set {key} {}", shell_word(value)))
            }
        }
    }

    /// As it stands in the file, under this id.
    pub fn to_json(&self, id: &str) -> Value {
        let mut value = json!({ "id": id, "command": self.word() });
        match self {
            Self::Pause | Self::Resume | Self::Stop | Self::KillAttempt => {}
            Self::Skip(task) | Self::Retry(task) => value["task_id"] = json!(task),
            Self::Note(text) => value["note"] = json!(text),
            Self::Set(CheckedSetting { key, value: new }) => {
                value["key"] = json!(key);
                value["value"] = json!(new);
            }
        }
        value
    }

    /// The command that an entry of the file is, or why it is none.
    pub fn read(entry: &Value) -> Result<Self, String> {
        let word = entry["command"].as_str().unwrap_or_default().trim().to_ascii_lowercase();
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| match &entry[name] {
                Value::String(text) => Some(text.trim().to_owned()),
                Value::Number(number) => Some(number.to_string()),
                Value::Bool(yes) => Some(yes.to_string()),
                _ => None,
            });
            found
                .filter(|text| !text.is_empty())
                .ok_or_else(|| format!("`{word}` has no {}", names[0]))
        };
        let task = || Ok::<_, String>(Id::new(text(&["task_id", "task"])?));
        Ok(match word.replace('_', "-").as_str() {
            "pause" => Self::Pause,
            "resume" => Self::Resume,
            "skip-task" | "skip" => Self::Skip(task()?),
            "inject-note" | "note" => {
                Self::Note(clip(&text(&["note", "text", "message"])?, LONGEST_NOTE))
            }
            "stop" => Self::Stop,
            "kill-attempt" => Self::KillAttempt,
            "retry-task" | "retry" => Self::Retry(task()?),
            "set-setting" => {
                Self::Set(CheckedSetting::new(&text(&["key", "setting"])?, &text(&["value"])?)?)
            }
            "" => return Err(format!("there is no command in {}", clip(&entry.to_string(), 80))),
            other => return Err(format!("there is no command `{}`", clip(other, 40))),
        })
    }
}

/// A command that was found in the control file while a backend worked, and left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoubtedCommand {
    /// The command with its task or setting.
    pub what: String,
    /// The task that it would skip or retry.
    pub task: Option<String>,
    /// Command line for a person who still wants the effect.
    pub next: String,
}

impl DoubtedCommand {
    /// Why it was not carried out.
    pub const WHY: &str = "it appeared in .ralph/control/commands.json while a backend worked, and \
                           only a person may ask for that";
}

/// Activity of the loop when a command comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopActivity<'a> {
    /// The loop starts. All commands in the file were sent before.
    Starting,
    /// An attempt on this task runs.
    Attempt(&'a str),
    /// The loop waits for the answers of agents.
    Asking,
    /// The loop waits, or is between two activities.
    Nothing,
}

/// Immediate effect of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEffect {
    /// The command is only recorded: pause, resume, note.
    Noted,
    /// The loop ends before it begins anything new.
    Stop,
    /// Whatever runs is ended, and nothing is counted.
    End,
    /// The task is skipped.
    Skip(Id),
    /// The attempt is ended, and then its task left out.
    EndThenSkip(Id),
    /// The task is open for a retry.
    Retry(Id),
    /// The setting is changed; while something runs that has to wait for its end.
    Set(CheckedSetting),
    /// There is nothing to do, for this reason.
    Nothing(&'static str),
}

impl CommandEffect {
    /// Whether doing it a second time changes nothing, so that a crash may make it happen again.
    pub fn is_redone(&self) -> bool {
        matches!(self, Self::Skip(_) | Self::EndThenSkip(_) | Self::Retry(_) | Self::Set(_))
    }
}

/// Return the effect of a command on a loop with this activity.
pub fn effect(command: &LoopCommand, doing: LoopActivity<'_>) -> CommandEffect {
    match (command, doing) {
        (LoopCommand::Pause | LoopCommand::Resume | LoopCommand::Note(_), _) => {
            CommandEffect::Noted
        }
        (LoopCommand::Stop | LoopCommand::KillAttempt, LoopActivity::Starting) => {
            CommandEffect::Nothing("it was sent before this run began")
        }
        (LoopCommand::Stop, _) => CommandEffect::Stop,
        (LoopCommand::KillAttempt, LoopActivity::Nothing) => {
            CommandEffect::Nothing("no attempt runs")
        }
        (LoopCommand::KillAttempt, _) => CommandEffect::End,
        (LoopCommand::Skip(task), LoopActivity::Attempt(now)) if task.as_str() == now => {
            CommandEffect::EndThenSkip(task.clone())
        }
        (LoopCommand::Skip(task), _) => CommandEffect::Skip(task.clone()),
        (LoopCommand::Retry(task), _) => CommandEffect::Retry(task.clone()),
        (LoopCommand::Set(setting), _) => CommandEffect::Set(setting.clone()),
    }
}

/// Describe the effect of a command and its time, for the sender.
pub fn promise(command: &LoopCommand, doing: LoopActivity<'_>) -> String {
    let after = match doing {
        LoopActivity::Attempt(_) => "when the attempt that runs has ended",
        LoopActivity::Asking => "when the agents that are asked have answered",
        LoopActivity::Starting | LoopActivity::Nothing => "at once",
    };
    match (command, effect(command, doing)) {
        (_, CommandEffect::Nothing(why)) => format!("nothing happens: {why}"),
        (LoopCommand::Pause, _) => format!("the loop pauses {after}; `ralph resume` goes on"),
        (LoopCommand::Resume, _) => "the loop goes on at once".into(),
        (LoopCommand::Note(_), _) => "the next prompt has it, once".into(),
        (LoopCommand::Stop, _) => format!("the loop ends {after}"),
        (LoopCommand::KillAttempt, _) => {
            "what runs is ended now, its work is kept under a ref, and nothing is counted".into()
        }
        (LoopCommand::Skip(task), CommandEffect::EndThenSkip(_)) => {
            format!("the attempt on {task} is ended now, and the task is left out")
        }
        (LoopCommand::Skip(task), _) => format!("{task} is left out at once"),
        (LoopCommand::Retry(task), _) => format!("{task} gets another chance at once"),
        (LoopCommand::Set(setting), _) => format!("{} = {} {after}", setting.key, setting.value),
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
