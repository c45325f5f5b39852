//! The environment of processes in a lane: what points into home points into the lane.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::lane::Lane;
use super::pool::real_path;
use crate::git::STRIPPED;

/// Variables that a shell sets by itself.
const SHELL_OWN: [&str; 2] = ["PWD", "OLDPWD"];

/// Variables that name an environment of a language, which a lane may not have yet.
const ACTIVATED: [&str; 3] = ["VIRTUAL_ENV", "CONDA_PREFIX", "VIRTUAL_ENV_PROMPT"];

/// The active environment of Python, which package managers install into. Outside of home it is dropped:
/// setup in a lane would change the user's own, and make it lead into the lane.
const PYTHON_ENVIRONMENT: [&str; 2] = ["VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT"];

/// Variables that must not lead to home, even where everything else of the user is below it.
const CODE_PATHS: [&str; 4] = ["VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "CARGO_TARGET_DIR"];

/// Changes of an environment, as a [`crate::proc::Job`] takes them.
type EnvironmentChanges = Vec<(OsString, Option<OsString>)>;

impl Lane<'_> {
    /// The changes that make ralph's environment `own` one of this lane, for every process that runs
    /// in it. `HUSKY=0` and `LEFTHOOK=0` are among them; [`Lane::run_hooks`] leaves those out.
    pub fn environment(
        &self,
        own: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> EnvironmentChanges {
        let (for_git, own): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|(name, _)| leads_git_elsewhere(name));
        let home = self.home.repo.top();
        let mut changes: EnvironmentChanges =
            for_git.into_iter().map(|(name, _)| (name, None)).collect();
        let exists = |path: &Path| path.exists();
        changes.extend(rewrite_environment(&own, home, self.top(), &exists));
        let real = real_path(home);
        if real != home {
            let own: Vec<_> = own.iter().filter(|(n, _)| !is_among(&changes, n)).cloned().collect();
            changes.extend(rewrite_environment(&own, &real, self.top(), &exists));
        }
        let is_set = |name: &str| own.iter().any(|(set, _)| set == name);
        for name in PYTHON_ENVIRONMENT {
            if !self.is_home() && is_set(name) && !is_among(&changes, OsStr::new(name)) {
                changes.push((name.into(), None));
            }
        }
        let trusted = own.iter().find(|(name, _)| name == "MISE_TRUSTED_CONFIG_PATHS");
        let mut trust = self.top().as_os_str().to_owned();
        if let Some((_, before)) = trusted.filter(|(_, value)| !value.is_empty()) {
            trust.push(":");
            trust.push(before);
        }
        changes.retain(|(name, _)| name != "MISE_TRUSTED_CONFIG_PATHS");
        for (name, value) in [
            ("RALPH_LANE", self.number().to_string().into()),
            ("MISE_TRUSTED_CONFIG_PATHS", trust),
            ("HUSKY", "0".into()),
            ("LEFTHOOK", "0".into()),
        ] {
            changes.push((name.into(), Some(value)));
        }
        changes
    }
}

/// Whether the variable comes from a git call around ralph, such as an alias or a hook, and is about the
/// repository of that call.
fn leads_git_elsewhere(name: &OsStr) -> bool {
    let is_stripped = STRIPPED.iter().any(|stripped| name == *stripped);
    let bytes = name.as_encoded_bytes();
    let is_setting = [&b"GIT_CONFIG_KEY_"[..], b"GIT_CONFIG_VALUE_"];
    (is_stripped && name != "LANGUAGE") || is_setting.iter().any(|start| bytes.starts_with(start))
}

fn is_among(changes: &EnvironmentChanges, name: &OsStr) -> bool {
    changes.iter().any(|(changed, _)| changed == name)
}

/// The changes to variables that point to `home` or below it: they point to the same place in `lane`,
/// or are dropped. `exists` tells whether a path in the lane is there.
///
/// Ralph's own variables stay. When the user's own folder is at or below `home`, as with a repository
/// of dot files, only variables that lead to code are changed.
pub fn rewrite_environment(
    variables: &[(OsString, OsString)],
    home: &Path,
    lane: &Path,
    exists: &dyn Fn(&Path) -> bool,
) -> Vec<(OsString, Option<OsString>)> {
    let of_user = variables.iter().find(|(name, _)| name == "HOME").map(|(_, value)| value);
    let is_dot_files = of_user.is_some_and(|own| Path::new(own).starts_with(home));
    let mut changes = Vec::new();
    for (name, value) in variables {
        let named = |list: &[&str]| list.iter().any(|listed| name == listed);
        if name.as_encoded_bytes().starts_with(b"RALPH_") {
            continue;
        }
        let Some(rewritten) = replace_path(value.as_bytes(), home, lane) else { continue };
        let is_list = named(&CODE_PATHS) || name == "PATH";
        if is_dot_files && !is_list && !named(&SHELL_OWN) {
            continue;
        }
        let in_git_dir = Path::new(value).starts_with(home.join(".git"));
        let dropped = in_git_dir
            || named(&SHELL_OWN)
            || (is_dot_files && name != "PATH")
            || (named(&ACTIVATED) && !exists(Path::new(&rewritten)));
        match (dropped, is_dot_files) {
            (true, _) => changes.push((name.clone(), None)),
            (false, false) => changes.push((name.clone(), Some(rewritten))),
            // A PATH with the user's own programs, which are below home.
            (false, true) => {}
        }
    }
    changes
}

/// `value` with every path to `home` or below it leading to `lane`; `None` when there is none.
fn replace_path(value: &[u8], home: &Path, lane: &Path) -> Option<OsString> {
    let (home, lane) = (home.as_os_str().as_bytes(), lane.as_os_str().as_bytes());
    let mut rewritten = Vec::new();
    let (mut at, mut found) = (0, false);
    while at < value.len() {
        let rest = &value[at..];
        let begins = at == 0 || !is_part_of_path(value[at - 1]);
        let ends =
            || rest.get(home.len()).is_none_or(|next| *next == b'/' || !is_part_of_name(*next));
        if begins && rest.starts_with(home) && ends() {
            rewritten.extend_from_slice(lane);
            (at, found) = (at + home.len(), true);
        } else {
            rewritten.push(rest[0]);
            at += 1;
        }
    }
    found.then(|| OsString::from_vec(rewritten))
}

/// Whether a path that follows this byte would be the continuation of another.
fn is_part_of_path(byte: u8) -> bool {
    byte == b'/' || is_part_of_name(byte)
}

fn is_part_of_name(byte: u8) -> bool {
    !matches!(byte, b':' | b';' | b',' | b'=' | b' ' | b'"' | b'\'' | b'\n' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(variables: &[(&str, &str)]) -> Vec<String> {
        let variables: Vec<(OsString, OsString)> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let exists = |path: &Path| !path.ends_with("absent");
        rewrite_environment(&variables, Path::new("/src/app"), Path::new("/lanes/1"), &exists)
            .into_iter()
            .map(|(name, value)| match value {
                Some(value) => format!("{}={}", name.display(), value.display()),
                None => format!("{} dropped", name.display()),
            })
            .collect()
    }

    #[test]
    fn paths_below_home_lead_to_the_lane() {
        let path = "/usr/bin:/src/app/node_modules/.bin:/src/app2/bin:/x/src/app/bin:/src/app";
        assert_eq!(
            changed(&[("PATH", path), ("CARGO_TARGET_DIR", "/src/app/target")]),
            [
                "PATH=/usr/bin:/lanes/1/node_modules/.bin:/src/app2/bin:/x/src/app/bin:/lanes/1",
                "CARGO_TARGET_DIR=/lanes/1/target",
            ]
        );
        assert_eq!(
            changed(&[("NODE_OPTIONS", "--require /src/app/.pnp.cjs --x")]),
            ["NODE_OPTIONS=--require /lanes/1/.pnp.cjs --x"]
        );
    }

    #[test]
    fn what_has_no_place_in_a_lane_is_dropped() {
        let dropped = changed(&[
            ("PWD", "/src/app/sub"),
            ("VIRTUAL_ENV", "/src/app/absent"),
            ("SOME_LOCK", "/src/app/.git/lock"),
        ]);
        assert_eq!(dropped, ["PWD dropped", "VIRTUAL_ENV dropped", "SOME_LOCK dropped"]);
        assert_eq!(changed(&[("VIRTUAL_ENV", "/src/app/venv")]), ["VIRTUAL_ENV=/lanes/1/venv"]);
    }

    #[test]
    fn variables_of_others_and_of_ralph_stay() {
        let none: [String; 0] = [];
        assert_eq!(changed(&[("EDITOR", "vi"), ("RALPH_MAILBOX", "/src/app/.git/x")]), none);
    }

    #[test]
    fn the_users_own_folder_never_moves_into_a_lane() {
        let own = [("HOME", "/src/app"), ("XDG_CONFIG_HOME", "/src/app/.config")];
        let more = [("PATH", "/src/app/bin:/bin"), ("PYTHONPATH", "/src/app/py")];
        assert_eq!(changed(&[own, more].concat()), ["PYTHONPATH dropped"]);
    }
}
