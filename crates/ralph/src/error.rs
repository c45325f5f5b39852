//! The one error that commands end in: what, where, what to do, and the exit code.

use std::io::Write;
use std::process::ExitCode;

use ralph_core::config::ConfigErrors;
use ralph_host::FileError;
use ralph_host::choice::BackendChoiceError;
use ralph_host::clock::ClockError;
use ralph_host::drive::DriveError;
use ralph_host::gates::GateError;
use ralph_host::git::GitError;
use ralph_host::ids::SeedError;
use ralph_host::mailbox::MailboxError;
use ralph_host::plan_store::PlanError;
use ralph_host::proc::ProcError;
use ralph_host::project::ProjectError;
use ralph_host::project_reader::ProjectReadError;
use ralph_host::store::{JournalError, LedgerStoreError, LockError};
use ralph_web::ServeError;

use crate::out;

/// Kind of a failure, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandErrorKind {
    /// Failure of the command itself: exit code 1.
    Failure,
    /// The command line is wrong: 2.
    Usage,
}

/// A command that could not do what it was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: CommandErrorKind,
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { kind: CommandErrorKind::Failure, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { kind: CommandErrorKind::Usage, ..Self::new(message) }
    }

    /// Add what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Add what to do about it, if there is something.
    pub(crate) fn maybe_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Return the message and all hints as one text, for readers who do not see standard error.
    pub(crate) fn told(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhint: {hint}"));
        std::iter::once(self.message.clone()).chain(hints).collect()
    }

    /// Return the message and the first hint.
    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hints.into_iter().next())
    }

    /// Tell the person, and give the exit code.
    pub(crate) fn report(self) -> ExitCode {
        out::note(format!("error: {}", self.message));
        for hint in &self.hints {
            out::note(format!("hint: {hint}"));
        }
        match self.kind {
            CommandErrorKind::Failure => ExitCode::from(1),
            CommandErrorKind::Usage => ExitCode::from(2),
        }
    }
}

/// Let `?` end a command with an error of the host and its hint.
macro_rules! end_commands_with {
    ($($error:ty),*) => { $(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self::new(error.to_string()).maybe_hint(error.hint())
            }
        }
    )* };
}

end_commands_with!(
    BackendChoiceError,
    ClockError,
    DriveError,
    FileError,
    GateError,
    GitError,
    JournalError,
    LockError,
    MailboxError,
    ProcError,
    ProjectError,
    SeedError,
    ServeError,
    LedgerStoreError
);

impl From<ConfigErrors> for CommandError {
    fn from(errors: ConfigErrors) -> Self {
        ProjectReadError::from(errors).into()
    }
}

impl From<ProjectReadError> for CommandError {
    fn from(error: ProjectReadError) -> Self {
        let kind = match error {
            ProjectReadError::NotAPlanName(_) => CommandErrorKind::Usage,
            _ => CommandErrorKind::Failure,
        };
        Self { kind, ..Self::new(error.to_string()) }.maybe_hint(error.hint())
    }
}

impl From<PlanError> for CommandError {
    fn from(error: PlanError) -> Self {
        Self::new(error.to_string()).maybe_hint(error.hint)
    }
}

/// A panic is a mistake in ralph: say so in one line, without a backtrace.
pub(crate) fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    ralph_face::freeze();
    let place =
        info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
    let what = info.payload_as_str().unwrap_or("unknown cause");
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "error: ralph made a mistake{place}: {what}");
    let _ = writeln!(stderr, "hint: please report this line; no file was left half written");
}
