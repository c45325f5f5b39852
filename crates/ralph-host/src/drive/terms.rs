//! On which terms a backend works: what it may use, what it is given, what it is told about itself.
//!
//! Known without a session, so that `ralph build --dry-run` shows what a run would really do.

use std::path::Path;
use std::time::Duration;

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::AnswerSchema;
use ralph_core::backend::{BackendPermissions, BackendRequest, McpServers, SessionStart};
use ralph_core::config::{Config, Dollars, StageName};
use ralph_core::cycle::RunCommand;
use ralph_core::handoff;
use ralph_core::limits::BackendRunLimits;
use ralph_core::plan::Task;

use super::error::DriveError;
use super::session::{ATTEMPT_VARIABLE, TASK_VARIABLE};
use crate::choice::{self, ChosenBackend};

/// Settings of a request beside its prompt.
pub(super) struct RequestTerms {
    mcp: Option<McpServers>,
    schema: AnswerSchema,
    max_turns: Option<u32>,
    permissions: BackendPermissions,
    budget: Option<f64>,
}

impl RequestTerms {
    /// Build the terms for a run on a task. `spent` is the cost of the loop so far, in dollars.
    pub(super) fn of(
        config: &Config,
        root: &Path,
        task: &Task,
        spent: f64,
    ) -> Result<Self, DriveError> {
        let schema = handoff::schema().clone();
        let role = RoleTerms::of(config, AgentRole::Build, schema, AgentAccess::Writes);
        Self::of_role(config, root, &RoleTerms { max_turns: task.max_turns, ..role }, spent)
    }

    /// The same with ralph's own tools beside the configured MCP servers, where those are wanted.
    /// `env` tells the tools which attempt they are in.
    pub(super) fn with_tools(
        mut self,
        config: &Config,
        env: &[(String, String)],
    ) -> Result<Self, DriveError> {
        if !config.mcp_tools {
            return Ok(self);
        }
        let args = ["mcp".to_owned()];
        let merged = McpServers::with_own(self.mcp.take(), &choice::own_program(), &args, env);
        self.mcp = Some(merged.map_err(|why| DriveError::Ask {
            message: format!("`[stages.build] mcp_config` names a file that cannot be used: {why}"),
            hint: "mend it, or set `mcp_tools = false`".into(),
        })?);
        Ok(self)
    }

    /// The same for an agent that is asked something.
    pub(super) fn of_role(
        config: &Config,
        root: &Path,
        role: &RoleTerms,
        spent: f64,
    ) -> Result<Self, DriveError> {
        let stage = config.stage(role.role.stage());
        Ok(Self {
            mcp: role.mcp.as_deref().map(|file| mcp(root, file)).transpose()?,
            schema: role.schema.clone(),
            max_turns: role.max_turns.or(stage.max_turns.or(config.max_turns).map(u32::from)),
            permissions: match role.access {
                AgentAccess::Looks => BackendPermissions::ReadOnly,
                AgentAccess::Writes if config.skip_permissions => BackendPermissions::Bypass,
                AgentAccess::Writes => BackendPermissions::Default,
            },
            budget: budget(config, spent),
        })
    }

    /// The request to a backend, with a prompt and what goes beside it. Its `scratch` is still to be filled in.
    pub(super) fn request<'t>(
        &'t self,
        chosen: &'t ChosenBackend,
        (prompt, system): (&'t str, Option<&'t str>),
        session: SessionStart<'t>,
    ) -> BackendRequest<'t> {
        BackendRequest {
            prompt,
            system,
            model: chosen.model.as_deref(),
            max_turns: self.max_turns,
            permissions: self.permissions,
            mcp: self.mcp.as_ref().map(McpServers::as_value),
            schema: chosen.driver.supports().schema.then(|| self.schema.as_value()),
            session,
            budget: self.budget,
            scratch: "",
            as_root: choice::is_root(),
        }
    }
}

/// Rights of an agent in a consultation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentAccess {
    Looks,
    /// Write too, and run what it likes: tests write files, and whoever may not write cannot run them.
    /// What it was not asked to write is undone.
    Writes,
}

/// On which terms an agent is asked something.
#[derive(Clone, Debug)]
pub(super) struct RoleTerms {
    pub(super) role: AgentRole,
    pub(super) schema: AnswerSchema,
    pub(super) access: AgentAccess,
    /// Most turns, where its own setting says so.
    pub(super) max_turns: Option<u32>,
    /// The model, where its own setting says so.
    pub(super) model: Option<String>,
    /// The file with the MCP servers that it may use.
    pub(super) mcp: Option<String>,
}

impl RoleTerms {
    /// The terms of a role, as configured for its stage.
    pub(super) fn of(
        config: &Config,
        role: AgentRole,
        schema: AnswerSchema,
        access: AgentAccess,
    ) -> Self {
        let mcp = config.stage(role.stage()).mcp_config;
        Self { role, schema, access, max_turns: None, model: None, mcp }
    }
}

/// The variables that tell a backend, and ralph's own commands in it, where they are.
pub(super) fn variables(
    attempt: &str,
    task: &Task,
    mailbox: (String, String),
) -> [(String, String); 3] {
    [
        (ATTEMPT_VARIABLE.to_owned(), attempt.to_owned()),
        (TASK_VARIABLE.to_owned(), task.id.to_string()),
        mailbox,
    ]
}

/// What one run may use: the budget is what is left of it.
pub(super) fn run_limits(
    config: &Config,
    of: RunCommand,
    stage: StageName,
    spent: f64,
) -> BackendRunLimits {
    let mut limits = BackendRunLimits::of(&config.limits, run_timeout(config, of, stage));
    limits.max_cost = budget(config, spent);
    limits
}

/// Return the context size in tokens that the backend's settings state, if they do.
pub(super) fn window(chosen: &ChosenBackend) -> Option<u64> {
    chosen.settings.context_window.map(|tokens| tokens.get().into())
}

/// How long one run may take.
pub(super) fn run_timeout(config: &Config, of: RunCommand, stage: StageName) -> Duration {
    let usual = match of {
        RunCommand::Build | RunCommand::Land => config.limits.build_timeout(),
        RunCommand::Construct | RunCommand::Plan | RunCommand::Agent => {
            config.limits.construct_timeout()
        }
    };
    config.stage(stage).timeout.map_or(usual, |t| t.get())
}

fn budget(config: &Config, spent: f64) -> Option<f64> {
    let limit = config.limits.max_cost.map(Dollars::get)?;
    Some((limit - spent).max(0.0))
}

/// The MCP servers that the stage may use.
fn mcp(root: &Path, file: &str) -> Result<McpServers, DriveError> {
    let bytes = crate::store::read(&root.join(file))?.unwrap_or_default();
    serde_json::from_slice(&bytes).map_err(|e| DriveError::Ask {
        message: format!("{file}: not a configuration of MCP servers: {e}"),
        hint: "mend it, or remove `mcp_config` where it is named in ralph.toml".into(),
    })
}
