//! Commands of backends: asked in the lane, carried out in the loop.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use ralph_host::drive::{ATTEMPT_VARIABLE, BackendCommands, MailboxCaller};
use ralph_host::mailbox::{
    self, LONGEST_INPUT, MailboxAnswer, MailboxCall, MailboxRequest, socket_of_attempt,
};
use ralph_host::project::Project;
use serde_json::Value;

use super::permit::{CommandAccess, CommandCaller};
use super::{mcp, task};
use crate::args::{Cli, CliCommand, PlanArgs};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, CapturedOutput};

/// The mailbox that this process has to ask, if it runs inside an attempt.
pub(crate) fn of_attempt() -> Option<PathBuf> {
    socket_of_attempt(std::env::var_os(ATTEMPT_VARIABLE))
}

/// The project around a directory, for the loop to say whether it is its own.
fn project_around(here: Option<&Path>) -> Option<PathBuf> {
    let directory = here.map_or_else(std::env::current_dir, |here| Ok(here.to_owned())).ok()?;
    let project = Project::discover(&directory).ok()?;
    project.is_initialised().then(|| project.root().to_owned())
}

/// Let the loop carry out what was typed. `None`: there is no loop to ask, or the command is none of its
/// business.
pub(crate) fn ask_for(cli: &Cli) -> Result<Option<ExitCode>, CommandError> {
    let Some(socket) = of_attempt() else { return Ok(None) };
    // These need no project; the server asks for each of its tools.
    if matches!(&cli.command, CliCommand::Mcp(_) | CliCommand::Completions(_) | CliCommand::Man(_))
    {
        return Ok(None);
    }
    let word = |word: std::ffi::OsString| {
        word.into_string().map_err(|_| CommandError::usage("an argument is not UTF-8 text"))
    };
    let args = std::env::args_os().skip(1).map(word).collect::<Result<_, _>>()?;
    let input = match &cli.command {
        CliCommand::Task(args) if args.reads_input() => Some(task::read_stdin(LONGEST_INPUT)?),
        _ => None,
    };
    let call = MailboxCall::Command { args, input };
    let project = project_around(cli.directory.as_deref());
    match mailbox::ask(&socket, &MailboxRequest { project, call })? {
        MailboxAnswer::Elsewhere => Ok(None),
        MailboxAnswer::Refused(why) => Err(CommandError::new(why)),
        MailboxAnswer::Done { stdout, stderr, code } => {
            if !stderr.is_empty() {
                out::note(stderr.trim_end_matches('\n'));
            }
            if !stdout.is_empty() {
                out::bytes(stdout.as_bytes())?;
            }
            Ok(Some(ExitCode::from(code)))
        }
    }
}

/// Let the loop carry out a tool. `None`: the tool is none of its business.
pub(crate) fn ask_for_tool(
    socket: &Path,
    here: Option<&Path>,
    name: &str,
    arguments: &Value,
) -> Result<Option<Value>, CommandError> {
    let call = MailboxCall::Tool { name: name.to_owned(), arguments: arguments.clone() };
    match mailbox::ask(socket, &MailboxRequest { project: project_around(here), call })? {
        MailboxAnswer::Elsewhere => Ok(None),
        MailboxAnswer::Refused(why) => Err(CommandError::new(why)),
        MailboxAnswer::Done { stdout, .. } => {
            let value = serde_json::from_str(&stdout);
            value.map(Some).map_err(|e| CommandError::new(format!("the loop's answer: {e}")))
        }
    }
}

/// The commands of ralph in a loop, for its backends.
#[derive(Debug)]
pub(crate) struct LoopCommands {
    /// Root of the project that the loop works in.
    pub(crate) project: PathBuf,
}

impl BackendCommands for LoopCommands {
    fn answer(&mut self, caller: &MailboxCaller, request: MailboxRequest) -> MailboxAnswer {
        let is_own = |root: &PathBuf| {
            *root == self.project || caller.lane.canonicalize().is_ok_and(|lane| *root == lane)
        };
        if !request.project.as_ref().is_none_or(is_own) {
            return MailboxAnswer::Elsewhere;
        }
        let caller = caller.clone();
        let (done, CapturedOutput { stdout, stderr }) = out::capture(|| match request.call {
            MailboxCall::Command { args, input } => {
                let done = self.command(&args, CommandCaller { caller, input });
                Ok(done.unwrap_or_else(CommandError::report))
            }
            MailboxCall::Tool { name, arguments } => {
                self.tool(&name, arguments, CommandCaller { caller, input: None })
            }
        });
        let code = match done {
            Ok(code) => code,
            Err(error) => return MailboxAnswer::Refused(error.told()),
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let code = (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1);
        MailboxAnswer::Done { stdout: text(stdout), stderr: text(stderr), code }
    }
}

impl LoopCommands {
    fn command(&self, args: &[String], behalf: CommandCaller) -> Result<ExitCode, CommandError> {
        let words = std::iter::once("ralph").chain(args.iter().map(String::as_str));
        let mut cli = Cli::try_parse_from(words)
            .map_err(|e| CommandError::usage(format!("the loop cannot read this command: {e}")))?;
        behalf.check(super::access(&cli.command))?;
        if super::is_endless(&cli.command) {
            return Err(CommandError::new("inside an attempt a command cannot stay and watch")
                .hint("`ralph status` shows how things stand now"));
        }
        cli.directory = Some(self.project.clone());
        super::carry_out(cli, &|| CommandContext::open_for(&self.project, behalf.clone()))
    }

    fn tool(
        &self,
        name: &str,
        arguments: Value,
        behalf: CommandCaller,
    ) -> Result<ExitCode, CommandError> {
        if mcp::access_of(name)? == CommandAccess::Say {
            behalf.check(CommandAccess::Say)?;
        }
        let context = CommandContext::open_for(&self.project, behalf)?;
        out::json(&mcp::call(name, &context, &PlanArgs::default(), arguments)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
