//! The shape that each kind of receiver takes.

use std::fmt;

use serde_json::{Value, json};

use super::happening::ProjectEvent;
use crate::config::{NotifyEvent, NotifyKind};
use crate::text::clip;

/// Maximum number of characters in a message for Discord.
const DISCORD: usize = 1900;
/// Maximum number of characters in a message for Telegram.
const TELEGRAM: usize = 4000;

/// A message that is ready to be delivered.
#[derive(Clone, Debug, PartialEq)]
pub enum NotificationMessage {
    /// Notification on the desktop.
    Desktop { title: String, body: String },
    /// Call of the user's shell command.
    Command {
        /// Environment variables of the command.
        env: Vec<(&'static str, String)>,
        /// Standard input of the command: one JSON object.
        stdin: String,
    },
    /// HTTP request to a service.
    Post(WebhookPost),
}

/// JSON for an address, which nobody may see.
#[derive(Clone, PartialEq)]
pub struct WebhookPost {
    /// Address of the service. It is a secret.
    pub url: String,
    /// Body of the request, as JSON.
    pub body: String,
}

impl fmt::Debug for WebhookPost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("url", &"…").field("body", &self.body).finish()
    }
}

impl NotificationMessage {
    /// The message for a receiver of this kind. `address` is what its variable holds; an error says
    /// what is wrong with that, without showing it.
    pub fn of(
        kind: NotifyKind,
        happening: &ProjectEvent,
        address: Option<&str>,
    ) -> Result<Self, String> {
        let (title, body) = (happening.title(), happening.text());
        match kind {
            NotifyKind::Desktop => return Ok(Self::Desktop { title, body }),
            NotifyKind::Command => return Ok(command(happening)),
            _ => {}
        }
        let url = checked(address)?;
        let both = format!("{title}\n{body}");
        let (url, json) = match kind {
            NotifyKind::Slack => (url.to_owned(), slack(&title, &body)),
            NotifyKind::Discord => (url.to_owned(), discord(&title, &body)),
            NotifyKind::Telegram => telegram(url, &both)?,
            NotifyKind::Ntfy => ntfy(url, happening.on(), &title, &body)?,
            NotifyKind::Desktop | NotifyKind::Command | NotifyKind::Webhook => {
                (url.to_owned(), json!(happening.report()))
            }
        };
        Ok(Self::Post(WebhookPost { url, body: json.to_string() }))
    }
}

fn checked(address: Option<&str>) -> Result<&str, String> {
    let url = address.map(str::trim).filter(|url| !url.is_empty());
    let url = url.ok_or("it is not set in ralph's environment")?;
    let known = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    if !known || url.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err("what it holds is no http or https address".to_owned());
    }
    Ok(url)
}

fn command(happening: &ProjectEvent) -> NotificationMessage {
    let env = vec![
        ("RALPH_EVENT", happening.on().as_str().to_owned()),
        ("RALPH_PROJECT", happening.project.clone()),
        ("RALPH_SPEC", happening.spec().unwrap_or_default().to_owned()),
        ("RALPH_TITLE", happening.title()),
        ("RALPH_MESSAGE", happening.text()),
    ];
    // A variable cannot hold what ends it.
    let env = env.into_iter().map(|(name, value)| (name, value.replace('\0', " "))).collect();
    NotificationMessage::Command { env, stdin: format!("{}\n", json!(happening.report())) }
}

/// Slack reads `<…>` as a link or a call of everybody, so those three characters are escaped.
fn slack(title: &str, body: &str) -> Value {
    let plain = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    json!({ "text": format!("*{}*\n{}", plain(title), plain(body)) })
}

/// Nobody is called by what an agent wrote: mentions are off.
fn discord(title: &str, body: &str) -> Value {
    let text = clip(&format!("**{title}**\n{body}"), DISCORD);
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

/// The address is that of `sendMessage` with the chat in it: `…/bot<token>/sendMessage?chat_id=…`.
fn telegram(url: &str, text: &str) -> Result<(String, Value), String> {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let chat = query.split('&').find_map(|pair| pair.strip_prefix("chat_id="));
    let chat = chat.filter(|chat| !chat.is_empty()).ok_or(
        "the address for Telegram has to end in `/sendMessage?chat_id=…`, with the number of the chat",
    )?;
    let chat = chat.replacen("%40", "@", 1);
    let body = json!({
        "chat_id": chat, "text": clip(text, TELEGRAM),
        "link_preview_options": { "is_disabled": true },
    });
    Ok((path.to_owned(), body))
}

/// The address is that of a topic; JSON goes to the server's root and names the topic.
fn ntfy(url: &str, on: NotifyEvent, title: &str, body: &str) -> Result<(String, Value), String> {
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (url, String::new()),
    };
    let start = path.find("://").map_or(0, |at| at + 3);
    let path = path.trim_end_matches('/');
    let slash = path.rfind('/').filter(|at| *at >= start);
    let (server, topic) = slash
        .map(|at| path.split_at(at))
        .ok_or("the address for ntfy has to name a topic: `https://ntfy.sh/TOPIC`")?;
    let (priority, tag) = match on {
        NotifyEvent::Done => (3, "white_check_mark"),
        NotifyEvent::Failed => (4, "x"),
        NotifyEvent::Blocked => (4, "raising_hand"),
        NotifyEvent::Limit => (4, "hourglass"),
        NotifyEvent::Stopped => (3, "octagonal_sign"),
    };
    let body = json!({
        "topic": topic.trim_start_matches('/'), "title": title, "message": body,
        "priority": priority, "tags": [tag],
    });
    Ok((format!("{server}/{query}"), body))
}
