//! Settings of a session before the prompt: its mode, its permissions and its model.
//!
//! Agents offer these as modes (`session/set_mode`), as configuration options
//! (`session/set_config_option`), and models also in an older way (`session/set_model`). ralph
//! sets only values that the agent offers.

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelect, SessionConfigSelectOptions, SessionModeState,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::backend::BackendPermissions;

/// Names of the modes in which an agent acts without asking.
const BYPASS: [&str; 4] = ["bypassPermissions", "yolo", "agent-full-access", "full-access"];
/// Modes that change nothing, or ask first; the last one also makes the agent only plan.
const READ_ONLY: [&str; 3] = ["read-only", "default", "plan"];
/// The option that lets a copilot act without asking, and its values.
const ALLOW_ALL: (&str, &str, &str) = ("allow_all", "on", "off");

/// Whether a run makes sense without a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingNeed {
    Must,
    /// The run makes sense without the setting, because ralph also answers permission requests.
    May,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionSetting {
    pub(super) what: String,
    /// Whether the run ends when the agent refuses it.
    pub(super) need: SettingNeed,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// Modes, options and models that an agent offers for a session.
pub(super) struct SessionOffer<'a> {
    session: &'a str,
    result: &'a Value,
    modes: Option<SessionModeState>,
    options: Vec<SessionConfigOption>,
}

impl<'a> SessionOffer<'a> {
    /// Reads the answer to `session/new`, `session/resume` or `session/load`.
    pub(super) fn new(session: &'a str, result: &'a Value) -> Self {
        let modes =
            result.get("modes").and_then(|modes| serde_json::from_value(modes.clone()).ok());
        let options = result.get("configOptions").and_then(Value::as_array);
        let options = options.into_iter().flatten();
        let options =
            options.filter_map(|option| serde_json::from_value(option.clone()).ok()).collect();
        Self { session, result, modes, options }
    }

    /// The model the session begins with.
    pub(super) fn model(&self) -> Option<String> {
        let option = self.select(|o| o.category == Some(SessionConfigOptionCategory::Model));
        option
            .map(|(_, select)| select.current_value.to_string())
            .or_else(|| self.result.pointer("/models/currentModelId")?.as_str().map(str::to_owned))
    }

    /// Return the context size of the current model, if the agent gives it beside the model's name.
    pub(super) fn window(&self) -> Option<u64> {
        let models = self.result.get("models")?;
        let current = models.get("currentModelId")?;
        let all = models.get("availableModels")?.as_array()?;
        let model = all.iter().find(|model| model.get("modelId") == Some(current))?;
        model.pointer("/_meta/contextLimit")?.as_u64()
    }

    /// Everything to set, in order; an error says why this agent cannot do what is asked.
    pub(super) fn settings(
        &self,
        policy: BackendPermissions,
        mode: Option<&str>,
        model: Option<&str>,
    ) -> Result<Vec<SessionSetting>, String> {
        let mut settings = Vec::new();
        settings.extend(self.mode(policy, mode)?);
        settings.extend(self.allow_all(policy));
        if let Some(model) = model {
            settings.extend(self.set_model(model)?);
        }
        Ok(settings)
    }

    fn mode(
        &self,
        policy: BackendPermissions,
        wish: Option<&str>,
    ) -> Result<Option<SessionSetting>, String> {
        let offered = self.modes();
        let find = |name: &str| {
            let is = |id: &&String| *id == name || id.ends_with(&format!("#{name}"));
            offered.iter().find(is).cloned()
        };
        let (id, need) = match (policy, wish) {
            (BackendPermissions::ReadOnly, _) => {
                (READ_ONLY.into_iter().find_map(find), SettingNeed::Must)
            }
            (_, Some(wish)) => match find(wish) {
                Some(id) => (Some(id), SettingNeed::Must),
                None => return Err(self.no_mode(wish, &offered)),
            },
            (BackendPermissions::Bypass, None) => {
                (BYPASS.into_iter().find_map(find), SettingNeed::May)
            }
            (BackendPermissions::Default, None) => (None, SettingNeed::May),
        };
        let Some(id) = id else { return Ok(None) };
        if let Some(modes) = &self.modes
            && modes.available_modes.iter().any(|mode| *mode.id.0 == *id)
        {
            let request = SetSessionModeRequest::new(self.session.to_owned(), id.clone());
            let setting = setting(
                format!("mode `{id}`"),
                need,
                AGENT_METHOD_NAMES.session_set_mode,
                &request,
            );
            return Ok((*modes.current_mode_id.0 != *id).then_some(setting));
        }
        let option = self.select(|o| o.category == Some(SessionConfigOptionCategory::Mode));
        Ok(option.and_then(|(option, _)| self.choose(option, &id, need)))
    }

    fn no_mode(&self, wish: &str, offered: &[String]) -> String {
        if offered.is_empty() {
            return format!("it has no modes, so `mode = \"{wish}\"` cannot be set");
        }
        format!("it has no mode `{wish}`, but {}", offered.join(", "))
    }

    /// Return the ids of all modes.
    fn modes(&self) -> Vec<String> {
        if let Some(modes) = &self.modes {
            return modes.available_modes.iter().map(|mode| mode.id.to_string()).collect();
        }
        self.select(|o| o.category == Some(SessionConfigOptionCategory::Mode))
            .map(|(_, select)| values(select))
            .unwrap_or_default()
    }

    fn allow_all(&self, policy: BackendPermissions) -> Option<SessionSetting> {
        let (id, on, off) = ALLOW_ALL;
        let (option, _) = self.select(|option| *option.id.0 == *id)?;
        match policy {
            BackendPermissions::Bypass => self.choose(option, on, SettingNeed::May),
            BackendPermissions::ReadOnly => self.choose(option, off, SettingNeed::Must),
            BackendPermissions::Default => None,
        }
    }

    fn set_model(&self, model: &str) -> Result<Option<SessionSetting>, String> {
        let option = self.select(|o| o.category == Some(SessionConfigOptionCategory::Model));
        if let Some((option, _)) = option {
            return Ok(self.choose(option, model, SettingNeed::Must));
        }
        let Some(models) = self.result.get("models").filter(|models| models.is_object()) else {
            return Err(format!(
                "it offers no choice of a model; give it `{model}` in the `args` of this backend"
            ));
        };
        if models.get("currentModelId").and_then(Value::as_str) == Some(model) {
            return Ok(None);
        }
        // Known only to the older agents, so not in the schema any more.
        let params = json!({"sessionId": self.session, "modelId": model});
        Ok(Some(setting(
            format!("model `{model}`"),
            SettingNeed::Must,
            "session/set_model",
            &params,
        )))
    }

    /// The first select option that fits.
    fn select(
        &self,
        fits: impl Fn(&SessionConfigOption) -> bool,
    ) -> Option<(&SessionConfigOption, &SessionConfigSelect)> {
        self.options.iter().find(|option| fits(option)).and_then(|option| match &option.kind {
            SessionConfigKind::Select(select) => Some((option, select)),
            _ => None,
        })
    }

    /// Sets an option to a value, unless it has it.
    fn choose(
        &self,
        option: &SessionConfigOption,
        value: &str,
        need: SettingNeed,
    ) -> Option<SessionSetting> {
        if let SessionConfigKind::Select(select) = &option.kind
            && *select.current_value.0 == *value
        {
            return None;
        }
        let request =
            SetSessionConfigOptionRequest::new(self.session.to_owned(), option.id.clone(), value);
        let what = format!("{} `{value}`", option.id);
        Some(setting(what, need, AGENT_METHOD_NAMES.session_set_config_option, &request))
    }
}

fn setting(
    what: String,
    need: SettingNeed,
    method: &'static str,
    params: &impl Serialize,
) -> SessionSetting {
    SessionSetting { what, need, method, params: serde_json::to_value(params).unwrap_or_default() }
}

/// All values of a select option.
fn values(select: &SessionConfigSelect) -> Vec<String> {
    match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => {
            options.iter().map(|option| option.value.to_string()).collect()
        }
        SessionConfigSelectOptions::Grouped(groups) => {
            let options = groups.iter().flat_map(|group| &group.options);
            options.map(|option| option.value.to_string()).collect()
        }
        _ => Vec::new(),
    }
}
