//! From what was typed to a spec: its name, its file and its text.

use std::path::{Path, PathBuf};

use ralph_core::init::is_starter;
use ralph_core::spec;
use ralph_core::text::nearest;
use ralph_host::specs;

use crate::commands::spec::existing_spec;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Largest spec, in bytes. An agent reads what does not fit into its prompt from the file.
const LARGEST: usize = 16 * 1024 * 1024;

/// Folder of specs in projects without `ralph/specs/`.
const ELSEWHERE: &str = "specs";

/// A spec that can be worked on.
#[derive(Clone, Debug)]
pub(crate) struct SpecFile {
    /// Name of the spec in plans.
    pub(crate) name: String,
    /// Path relative to the project.
    pub(crate) file: String,
    pub(crate) text: String,
}

/// The spec that was typed: a name in ralph/specs/, or a markdown file of the project.
pub(crate) fn spec_file(context: &CommandContext, typed: &str) -> Result<SpecFile, CommandError> {
    let (name, path) = match find(context, typed)? {
        Some(found) => found,
        // It says what is not there, and what may have been meant.
        None => {
            let name = existing_spec(context, typed)?;
            (name.clone(), context.project.specs_dir().join(name))
        }
    };
    let spec = read(context, name, &path)?;
    if is_starter(&spec.text) { Err(untouched(&spec.file)) } else { Ok(spec) }
}

/// There is nothing to work on.
pub(crate) fn none(context: &CommandContext) -> CommandError {
    let error = CommandError::new("there is no spec in ralph/specs/");
    if context.project.ralph_toml().is_file() {
        return error.hint("write what you want in markdown, for example ralph/specs/first.md");
    }
    error.hint("`ralph init` sets this project up, with a first spec to edit")
}

/// The starter of `ralph init` says nothing that anybody wants.
pub(crate) fn untouched(file: &str) -> CommandError {
    CommandError::new(format!("{file} is still the starter that `ralph init` wrote"))
        .hint(format!("open {file} and say what you want, in your own words"))
}

/// Find the name and the path of a typed spec; `None` when there is no such file.
pub(crate) fn find(
    context: &CommandContext,
    typed: &str,
) -> Result<Option<(String, PathBuf)>, CommandError> {
    if let Ok(name) = spec::name(typed) {
        let path = context.project.specs_dir().join(&name);
        if path.is_file() {
            return Ok(Some((name, path)));
        }
        let path = context.project.root().join(ELSEWHERE).join(&name);
        if path.is_file() {
            return Ok(Some((format!("{ELSEWHERE}/{name}"), path)));
        }
    }
    let path = context.directory.join(typed);
    let is_spec = path.extension().is_some_and(|e| e == "md" || e == "markdown") && path.is_file();
    if !is_spec {
        return Ok(None);
    }
    let whole = path.canonicalize().unwrap_or(path);
    let root = context.project.root().canonicalize();
    let root = root.unwrap_or_else(|_| context.project.root().to_owned());
    if let Ok(name) = whole.strip_prefix(root.join("ralph/specs")) {
        return Ok(Some((name.display().to_string(), whole)));
    }
    match whole.strip_prefix(&root) {
        Ok(name) => Ok(Some((name.display().to_string(), whole.clone()))),
        Err(_) => Err(CommandError::new(format!("{typed} is outside of the project"))
            .hint("copy it to ralph/specs/: agents read it there, and it is kept with the work")),
    }
}

/// Every spec that somebody wrote: ralph/specs/, else specs/. When there is nothing but the starter of
/// `ralph init`, that is told.
pub(crate) fn all(context: &CommandContext) -> Result<Vec<SpecFile>, CommandError> {
    let native = context.project.specs_dir();
    let other = context.project.root().join(ELSEWHERE);
    let (directory, prefix) = match native.is_dir() {
        true => (native, String::new()),
        false => (other, format!("{ELSEWHERE}/")),
    };
    let names = specs::list(&directory)
        .map_err(|e| CommandError::new(format!("cannot list {}: {e}", context.show(&directory))))?;
    let mut written = Vec::new();
    let mut starter = None;
    for name in names {
        let spec = read(context, format!("{prefix}{name}"), &directory.join(&name))?;
        if is_starter(&spec.text) { starter = Some(spec.file) } else { written.push(spec) }
    }
    match starter {
        Some(file) if written.is_empty() => Err(untouched(&file)),
        _ => Ok(written),
    }
}

/// The one spec that is meant when none is named.
pub(crate) fn only(
    context: &CommandContext,
    current: Option<&str>,
) -> Result<SpecFile, CommandError> {
    if let Some(current) = current {
        return spec_file(context, current);
    }
    let mut all = all(context)?;
    match (all.pop(), all.len()) {
        (Some(spec), 0) => Ok(spec),
        (None, _) => Err(none(context)),
        (Some(last), _) => {
            let mut names: Vec<String> = all.into_iter().map(|spec| spec.name).collect();
            names.push(last.name);
            Err(CommandError::usage(format!("which spec? {}", names.join(", "))))
        }
    }
}

fn read(context: &CommandContext, name: String, path: &Path) -> Result<SpecFile, CommandError> {
    let shown = context.show(path);
    let bytes = ralph_host::store::read(path)?
        .ok_or_else(|| CommandError::new(format!("{shown} is not there any more")))?;
    if bytes.len() > LARGEST {
        return Err(CommandError::new(format!("{shown} is larger than 16 MB"))
            .hint("a spec says what is wanted; put data elsewhere and name the file"));
    }
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| CommandError::new(format!("{shown} is not a text file")))?;
    if text.trim().is_empty() {
        return Err(CommandError::new(format!("{shown} is empty"))
            .hint("say what is wanted, and how to see that it is there"));
    }
    let root = context.project.root();
    let file = path.strip_prefix(root).map(|p| p.display().to_string());
    let file = file.unwrap_or_else(|_| match name.starts_with(ELSEWHERE) || name.contains('/') {
        true => name.clone(),
        false => format!("ralph/specs/{name}"),
    });
    Ok(SpecFile { name, file, text })
}

/// A spec that was not found may be a slip: the nearest name.
pub(crate) fn near(context: &CommandContext, typed: &str) -> Option<String> {
    let names: Vec<String> = all(context).ok()?.into_iter().map(|spec| spec.name).collect();
    let short =
        |name: &str| name.rsplit('/').next().unwrap_or(name).trim_end_matches(".md").to_owned();
    let stems: Vec<String> = names.iter().map(|name| short(name)).collect();
    let near = nearest(&short(typed), stems.iter().map(String::as_str))?;
    let at = stems.iter().position(|stem| stem == near)?;
    names.get(at).cloned()
}
