//! The answer to an agent that asks whether it may.

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind as Kind, RequestPermissionOutcome,
    SelectedPermissionOutcome, ToolKind,
};

use crate::backend::BackendPermissions;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PermissionAnswer {
    Allow,
    Reject,
}

/// Return the answer of the policy for a tool of this kind.
/// Under the program's own settings, the agent asks only about tools that they do not allow.
/// No person is there to answer, so the tool is rejected.
pub(super) fn verdict(policy: BackendPermissions, kind: ToolKind) -> PermissionAnswer {
    match (policy, kind) {
        (BackendPermissions::Bypass, _)
        | (
            BackendPermissions::ReadOnly,
            ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch,
        ) => PermissionAnswer::Allow,
        _ => PermissionAnswer::Reject,
    }
}

/// The option that says so. Once is better than always: "always" may write the program's settings
/// files, which belong to the user.
pub(super) fn choose(
    verdict: PermissionAnswer,
    options: &[PermissionOption],
) -> Option<&PermissionOption> {
    let wanted = match verdict {
        PermissionAnswer::Allow => [Kind::AllowOnce, Kind::AllowAlways],
        PermissionAnswer::Reject => [Kind::RejectOnce, Kind::RejectAlways],
    };
    wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
}

/// The chosen option as an answer. Without one the question is called off, which permits nothing.
pub(super) fn outcome(chosen: Option<&PermissionOption>) -> RequestPermissionOutcome {
    match chosen {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
            option.option_id.clone(),
        )),
        None => RequestPermissionOutcome::Cancelled,
    }
}
