//! Delivering notifications: to the desktop, a command, or an address.
//!
//! # Theory of operation
//!
//! ```text
//! Happening --core--> Message --> notify-send | osascript      (desktop)
//!                             --> sh -c, variables and JSON    (command)
//!                             --> curl, all of it on its input (webhook and its kin)
//! ```
//!
//! Everything goes through the one runner, so a receiver that hangs is ended with all it started, and
//! all receivers are told at the same time. Whatever goes wrong is a sentence for the log and never an
//! error: work does not stop because nobody could be told of it. An address is a secret. It comes from
//! the environment, reaches curl on its standard input and not among its arguments, which everybody
//! can list, and nothing that curl says about it is passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ralph_core::backend::{BackendExit, ProcessEnding};
use ralph_core::config::{Config, NotifyKind, NotifySettings};
use ralph_core::notify::{NotificationMessage, ProjectEvent, WebhookPost};

use crate::proc::{Job, JobRunner, JobStdin, ProcError, find_program};

/// Longest time that a notification command may take.
const COMMAND: Duration = Duration::from_secs(30);
/// Longest time that a desktop notification or a request by curl may take.
const DELIVERY: Duration = Duration::from_secs(15);
/// Timeout that curl gets, in seconds. It is shorter than ours, because curl tells the reason.
const CURL_SECONDS: u32 = 10;

/// Tells whoever wants to hear of it.
pub struct Notifier {
    receivers: Vec<NotifySettings>,
    root: PathBuf,
    /// Addresses by the name of their variable: secrets.
    addresses: BTreeMap<String, String>,
    /// `PATH` in which programs are looked for.
    path: Option<OsString>,
    /// Problems that are said once: they do not change while ralph runs.
    said: Mutex<BTreeSet<String>>,
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").field("receivers", &self.receivers).finish_non_exhaustive()
    }
}

impl Notifier {
    /// The receivers that the configuration of the project at `root` names.
    pub fn of(config: &Config, root: &Path) -> Self {
        Self::with_env(config, root, &|name| std::env::var_os(name))
    }

    /// The same in another environment than ralph's own; for tests.
    pub fn with_env(config: &Config, root: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let receivers = config.notify.clone();
        let named = receivers.iter().filter_map(|to| to.url_env.as_ref());
        let addresses =
            named.filter_map(|name| Some((name.clone(), env(name)?.into_string().ok()?))).collect();
        let (root, path) = (root.to_owned(), env("PATH"));
        Self { receivers, root, addresses, path, said: Mutex::default() }
    }

    /// Tell every receiver that wants to hear of it. What could not be delivered comes back in words.
    pub fn tell(&self, runner: &JobRunner, happening: &ProjectEvent) -> Vec<String> {
        let wanted = self.receivers.iter().filter(|to| to.on.contains(&happening.on()));
        std::thread::scope(|scope| {
            let threads: Vec<_> = wanted
                .map(|to| scope.spawn(|| self.deliver(runner, to, happening).err()))
                .collect();
            // A thread that panicked has said so already.
            threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
        })
    }

    fn deliver(
        &self,
        runner: &JobRunner,
        to: &NotifySettings,
        happening: &ProjectEvent,
    ) -> Result<(), String> {
        let address = to.url_env.as_ref().and_then(|name| self.addresses.get(name));
        let failed = |why: String| format!("a notification was not delivered: {}: {why}", name(to));
        let message = NotificationMessage::of(to.kind, happening, address.map(String::as_str))
            .map_err(failed)?;
        let job = match &message {
            NotificationMessage::Desktop { title, body } => match self.desktop(title, body) {
                Some(job) => job,
                None => {
                    return self.once(failed("no notify-send or osascript is installed".into()));
                }
            },
            NotificationMessage::Command { env, stdin } => {
                let command = to.command.as_deref().unwrap_or_default();
                let mut job = Job::new("sh", &self.root).args(["-c", command]);
                job.env.extend(env.iter().map(|(name, value)| (name.into(), Some(value.into()))));
                job.stdin = JobStdin::Bytes(stdin.clone().into_bytes());
                job.bounds.timeout = Some(COMMAND);
                job
            }
            NotificationMessage::Post(post) => self.curl(post),
        };
        let (finished, said) = runner.output(&job).map_err(|e| failed(unstarted(&e)))?;
        let why = match &message {
            NotificationMessage::Post(_) => refused(finished.exit, &String::from_utf8_lossy(&said)),
            _ => unwell(finished.exit),
        };
        why.map_or(Ok(()), |why| Err(failed(why)))
    }

    /// A problem that is the same every time is said the first time.
    fn once(&self, problem: String) -> Result<(), String> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(problem.clone()) { Err(problem) } else { Ok(()) }
    }

    fn desktop(&self, title: &str, body: &str) -> Option<Job> {
        let there = |program: &str| {
            find_program(OsStr::new(program), self.path.as_deref(), &self.root).is_some()
        };
        let mut job = if there("notify-send") {
            // It reads a few tags in the text.
            let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let args = ["--app-name=ralph", "--", title, &body].map(OsString::from);
            Job::new("notify-send", &self.root).args(args)
        } else if there("osascript") {
            let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
            Job::new("osascript", &self.root).args(["-e", script, "--", title, body])
        } else {
            return None;
        };
        job.env.extend(self.path.clone().map(|path| ("PATH".into(), Some(path))));
        job.bounds.timeout = Some(DELIVERY);
        Some(job)
    }

    fn curl(&self, post: &WebhookPost) -> Job {
        // Nothing of the user's own curl settings, which may print what is sent.
        let mut job = Job::new("curl", &self.root).args(["--disable", "--config", "-"]);
        job.stdin = JobStdin::Bytes(curl_config(post).into_bytes());
        job.bounds.timeout = Some(DELIVERY);
        job
    }
}

/// Return the configuration that curl reads: the address, the body, and the format of its output.
fn curl_config(post: &WebhookPost) -> String {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
    };
    format!(
        "url = {}\ndata-raw = {}\nheader = \"Content-Type: application/json\"\n\
         header = \"User-Agent: ralph\"\nproto = \"=http,https\"\nsilent\ngloboff\n\
         max-time = {CURL_SECONDS}\noutput = \"/dev/null\"\nwrite-out = \"%{{http_code}}\"\n",
        quoted(&post.url),
        quoted(&post.body)
    )
}

/// A receiver as the configuration describes it; the variable's name is no secret.
fn name(to: &NotifySettings) -> String {
    match (&to.url_env, to.kind) {
        (Some(variable), kind) => format!("{} (address in ${variable})", kind.as_str()),
        (None, NotifyKind::Command) => {
            let command = to.command.as_deref().unwrap_or_default();
            format!("command `{}`", ralph_core::text::clip(command, 60))
        }
        (None, kind) => kind.as_str().to_owned(),
    }
}

/// The arguments of a job may not be shown; that it did not start may.
fn unstarted(error: &ProcError) -> String {
    let hint = error.hint().map(|hint| format!(" ({hint})"));
    format!("{error}{}", hint.unwrap_or_default())
}

/// Describe how a program failed; `None` when it succeeded.
pub(crate) fn unwell(exit: BackendExit) -> Option<String> {
    match (exit.stopped, exit.ending) {
        (Some(_), _) => Some("it took too long and was stopped".to_owned()),
        (None, ProcessEnding::Code(0)) => None,
        (None, ProcessEnding::Code(code)) => Some(format!("it ended with exit code {code}")),
        (None, ProcessEnding::Signal(signal)) => Some(format!("it was ended by signal {signal}")),
        (None, ProcessEnding::NotFound) => Some("its program is not installed".to_owned()),
    }
}

/// Describe why a delivery by curl failed; `None` when it succeeded. Curl's own messages may contain
/// the address, which is a secret, so the text is chosen by the exit code.
fn refused(exit: BackendExit, status: &str) -> Option<String> {
    let ProcessEnding::Code(code) = exit.ending else {
        return match exit.ending {
            ProcessEnding::NotFound => Some("curl is not installed".to_owned()),
            _ => unwell(exit),
        };
    };
    let words = match code {
        0 if status.trim().starts_with('2') => return None,
        0 => return Some(format!("the receiver answered {}", status.trim())),
        3 => "the address makes no sense".to_owned(),
        5 | 97 => "the proxy cannot be reached".to_owned(),
        6 => "there is no such host".to_owned(),
        7 => "nobody answers at that address".to_owned(),
        28 => "no answer in time".to_owned(),
        35 | 51 | 58 | 60 | 77 => "no safe connection (TLS)".to_owned(),
        52 | 55 | 56 => "the connection broke".to_owned(),
        code => format!("curl ended with exit code {code}"),
    };
    unwell(BackendExit { ending: ProcessEnding::Code(0), ..exit }).or(Some(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_message_becomes_an_option_of_curl() {
        let post = WebhookPost {
            url: "https://a.example/\"x".into(),
            body: "{\"a\":\"\\n\"}\nurl = x".into(),
        };
        let config = curl_config(&post);
        let lines: Vec<&str> = config.lines().collect();
        assert_eq!(lines[0], r#"url = "https://a.example/\"x""#);
        assert_eq!(lines[1], r#"data-raw = "{\"a\":\"\\n\"}\nurl = x""#);
        assert_eq!(config.matches("\nurl").count(), 0);
    }

    #[test]
    fn an_answer_is_good_when_its_number_begins_with_two() {
        let exit = |code| BackendExit { ending: ProcessEnding::Code(code), stopped: None };
        assert_eq!(refused(exit(0), "204"), None);
        assert_eq!(refused(exit(0), "404").unwrap(), "the receiver answered 404");
        assert_eq!(refused(exit(7), "000").unwrap(), "nobody answers at that address");
        assert_eq!(refused(exit(99), "000").unwrap(), "curl ended with exit code 99");
    }
}
