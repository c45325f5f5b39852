//! Reading what is to be imported: a file, standard input, or the telling files of a project.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use ralph_core::import::{self, ImportSource};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// No plan that people work on is larger.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Most files that one import may read.
const MOST: usize = 5000;

/// Greatest depth of folders in the folder of one change or feature.
const DEEPEST: usize = 6;

/// Files of which a folder that is one change or one feature has at least one.
const MARKS: [&str; 3] = ["proposal.md", "spec.md", "tasks.md"];

pub(super) struct GatheredSources {
    /// Name of the source, for people.
    pub(super) shown: String,
    pub(super) sources: Vec<ImportSource>,
    pub(super) remarks: Vec<String>,
    /// Prefix of the path of each source when people type it.
    base: String,
}

impl GatheredSources {
    /// A source as it can be typed.
    pub(super) fn typed(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A source as messages call it.
    pub(super) fn called(&self, path: &str) -> String {
        if path == "-" { self.shown.clone() } else { self.typed(path) }
    }
}

pub(super) fn gather(
    context: &CommandContext,
    path: &str,
) -> Result<GatheredSources, CommandError> {
    if path == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes);
        read.map_err(|e| CommandError::new(format!("cannot read standard input: {e}")))?;
        let text = text(bytes).map_err(|why| CommandError::new(format!("standard input {why}")))?;
        return Ok(single("standard input", "-", text));
    }
    let place = context.directory.join(path);
    let meta = fs::metadata(&place)
        .map_err(|e| CommandError::new(format!("cannot read {}: {e}", out::clean(path))))?;
    let is_root = |place: &Path| {
        place.canonicalize().is_ok_and(|p| p == context.project.root())
            || place.join(".git").exists()
    };
    if meta.is_dir() {
        let marked = MARKS.iter().any(|mark| place.join(mark).is_file());
        return match marked && !is_root(&place) {
            true => folder(context, &place),
            false => project(context, path, &place),
        };
    }
    let parent = place.parent().unwrap_or(&place);
    let is_tasks = place.file_name().is_some_and(|name| name == "tasks.md");
    if is_tasks && !is_root(parent) {
        return folder(context, parent);
    }
    let text =
        read(&place).map_err(|why| CommandError::new(format!("{} {why}", out::clean(path))))?;
    Ok(single(path, path.trim_start_matches("./"), text))
}

fn single(shown: &str, path: &str, text: String) -> GatheredSources {
    GatheredSources {
        shown: shown.to_owned(),
        sources: vec![ImportSource { path: path.to_owned(), text }],
        remarks: Vec::new(),
        base: String::new(),
    }
}

fn project(
    context: &CommandContext,
    typed: &str,
    root: &Path,
) -> Result<GatheredSources, CommandError> {
    let base = match typed.trim_end_matches('/') {
        "." | "" => String::new(),
        folder => format!("{folder}/"),
    };
    let shown = if base.is_empty() { "this project".to_owned() } else { context.show(root) };
    let mut gathered = GatheredSources { shown, sources: Vec::new(), remarks: Vec::new(), base };
    let enters = |folder: &str, _: usize| import::enters(folder);
    walk(&mut gathered, root, "", &enters, &import::wants)?;
    Ok(gathered)
}

/// Everything in the folder of one change or feature.
fn folder(context: &CommandContext, place: &Path) -> Result<GatheredSources, CommandError> {
    let whole = place.canonicalize().unwrap_or_else(|_| place.to_owned());
    let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or("imported").to_owned();
    let shown = context.show(&whole);
    let base = shown.strip_suffix(&name).unwrap_or_default().to_owned();
    let mut gathered = GatheredSources { shown, sources: Vec::new(), remarks: Vec::new(), base };
    let enters = |folder: &str, depth: usize| {
        depth <= DEEPEST && !folder.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
    };
    let wants = |path: &str| !path.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
    walk(&mut gathered, &whole, &name, &enters, &wants)?;
    Ok(gathered)
}

/// Read the files below `root` that are wanted; their paths begin with `prefix`.
fn walk(
    gathered: &mut GatheredSources,
    root: &Path,
    prefix: &str,
    enters: &dyn Fn(&str, usize) -> bool,
    wants: &dyn Fn(&str) -> bool,
) -> Result<(), CommandError> {
    let mut open = vec![(root.to_owned(), prefix.to_owned(), 0)];
    while let Some((directory, folder, depth)) = open.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(_) if depth > 0 => continue,
            Err(e) => {
                let message = format!("cannot read {}: {e}", directory.display());
                return Err(CommandError::new(message));
            }
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            // A link to a folder could lead round in a circle, so it is not followed.
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && enters(&path, depth + 1) {
                open.push((entry.path(), path, depth + 1));
            } else if !is_dir && wants(&path) {
                match read(&entry.path()) {
                    Ok(text) => gathered.sources.push(ImportSource { path, text }),
                    Err(why) => {
                        gathered.remarks.push(format!("{path} {why}: it stays where it is"))
                    }
                }
            }
            if gathered.sources.len() > MOST {
                return Err(CommandError::new(format!(
                    "{} has more than {MOST} files",
                    gathered.shown
                ))
                .hint("name the folder or the file that holds the plan"));
            }
        }
    }
    gathered.sources.sort_by(|a, b| a.path.cmp(&b.path));
    gathered.remarks.sort();
    Ok(())
}

/// The text of a file, or why there is none.
fn read(path: &Path) -> Result<String, String> {
    let words = |e: io::Error| format!("cannot be read: {e}");
    let meta = fs::metadata(path).map_err(words)?;
    // Opening a pipe would wait for somebody to write into it.
    if !meta.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(words)?;
    text(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > LARGEST {
        return Err(format!("is larger than {} MiB", LARGEST >> 20));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) => Err("is not text".to_owned()),
        Err(e) => {
            let bytes = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
            let line = bytes.filter(|&&byte| byte == b'\n').count() + 1;
            Err(format!("is not UTF-8 text (line {line})"))
        }
    }
}
