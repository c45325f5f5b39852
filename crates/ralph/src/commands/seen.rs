//! What the view model is made of, read in one place: plan, queue, settings, and who is at work.

use ralph_core::config::Config;
use ralph_core::cycle::History;
use ralph_core::dashboard::{Facts, Meter, Running, State, state};
use ralph_core::inbox::{Entry, Inbox};

use crate::args::PlanArgs;
use crate::context::{Context, PlanFile, parse_error};
use crate::error::CommandError;

/// Everything but the journal, as it was when somebody looked.
pub(crate) struct Seen {
    /// The plan.
    pub(crate) file: PlanFile,
    inbox: Vec<Entry>,
    config: Config,
    /// Whether a loop is at work.
    pub(crate) running: Running,
}

impl Seen {
    /// Look, and change nothing. A plan or a queue that is not there yet is empty.
    pub(crate) fn peek(context: &Context, plan: &PlanArgs) -> Result<Self, CommandError> {
        let path = context.plan_path(plan)?;
        let file = match path.exists() {
            true => context.peek_plan(plan)?.0,
            false => context.plan_at(&path)?,
        };
        let inbox = context.project.inbox();
        let text = context.peek_text(&inbox)?.unwrap_or_default();
        let inbox = Inbox::parse(&text).map_err(|e| parse_error(&context.show(&inbox), &e))?;
        Self::of(context, file, inbox.entries())
    }

    /// The same for a command that has read plan and queue already.
    pub(crate) fn of(
        context: &Context,
        file: PlanFile,
        inbox: &[Entry],
    ) -> Result<Self, CommandError> {
        let config = context.config_with(&[], &file)?.config;
        Ok(Self { file, inbox: inbox.to_vec(), config, running: context.running() })
    }

    /// The view model.
    pub(crate) fn state(&self, context: &Context, history: &History, meter: Meter) -> State {
        let root = context.project.root();
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        state(&Facts {
            now: &context.now(),
            project: &name.unwrap_or_default(),
            plan_file: &self.file.shown,
            history,
            plan: &self.file.plan,
            damage: &[],
            inbox: &self.inbox,
            config: &self.config,
            running: &self.running,
            meter,
        })
    }
}
