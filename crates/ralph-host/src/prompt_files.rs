//! Files that become part of a prompt: overrides of templates, skills, the knowledge index.
//!
//! # Theory of operation
//!
//! Whatever is missing or does not work is a warning, and the work goes on without it: in place of an
//! override there is the embedded template.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::prompt::{PromptTemplate, PromptTemplates, Skill, TEMPLATES, TemplateError};
use ralph_core::text::nearest;

use crate::file_error::{FileAction, FileError};
use crate::store;

/// Directories of a project's own prompts. The last one takes precedence.
const PROMPTS: [&str; 2] = [".ralph/templates", "ralph/prompts"];
const SKILLS: &str = ".ralph/skills";
const INDEX: &str = ".ralph/knowledge-index.md";

/// The older name of the output instructions, for projects that have only that one.
const OLD_FOOTER: &str = "coding-prompt.md";

/// Largest skill or index that is read, in bytes. No budget has room for more.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Something that was read, and what was not as it should be.
#[derive(Clone, Debug)]
pub struct PromptFileContent<T> {
    pub value: T,
    /// Sentences about parts that could not be loaded.
    pub warnings: Vec<String>,
}

/// A prompt of the project that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptFileError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: a prompt must be UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error(transparent)]
    Template(#[from] TemplateError),
}

impl PromptFileError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::NotText(path) => Some(format!("save {} as UTF-8", path.display())),
            Self::Template(error) => Some(format!(
                "mend {}, or remove it to have the embedded prompt; docs/prompts.md has the variables",
                error.file
            )),
        }
    }
}

/// The templates of the project at `root`: the embedded ones and what overrides them. One that does
/// not work is told, and not used.
pub fn templates(root: &Path) -> Result<PromptFileContent<PromptTemplates>, PromptFileError> {
    let mut templates = PromptTemplates::embedded();
    let mut warnings = Vec::new();
    for directory in PROMPTS {
        for &template in TEMPLATES {
            let mut names = vec![template.file_name()];
            if PromptTemplate::of_file(OLD_FOOTER) == Some(template) {
                names.push(OLD_FOOTER);
            }
            for name in names {
                let file = format!("{directory}/{name}");
                match put_in_place(&mut templates, template, root, &file) {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(PromptFileError::File(error)) => return Err(error.into()),
                    Err(error) => {
                        let hint = error.hint().unwrap_or_default();
                        warnings.push(format!("{error}; the embedded prompt is used. {hint}"));
                        break;
                    }
                }
            }
        }
        warnings.extend(near_misses(root, directory));
    }
    Ok(PromptFileContent { value: templates, warnings })
}

/// A file that the configuration names: in one of the directories for prompts, or a path in the
/// project. Returns where it is and what it says.
pub fn own(root: &Path, name: &str) -> Result<Option<(String, String)>, String> {
    let places = PROMPTS.iter().rev().map(|directory| format!("{directory}/{name}"));
    for file in places.chain([name.to_owned()]) {
        if let Some(text) = limited(&root.join(&file), LARGEST)? {
            return Ok(Some((file, text)));
        }
    }
    Ok(None)
}

/// Put an override into its template's place, when there is one.
fn put_in_place(
    templates: &mut PromptTemplates,
    template: PromptTemplate,
    root: &Path,
    file: &str,
) -> Result<bool, PromptFileError> {
    let Some(text) = text(&root.join(file))? else { return Ok(false) };
    templates.replace(template, file, &text)?;
    Ok(true)
}

fn text(path: &Path) -> Result<Option<String>, PromptFileError> {
    let Some(bytes) = store::read(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| PromptFileError::NotText(path.to_owned()))
}

/// Files that are almost called like a template: nothing would ever read them.
fn near_misses(root: &Path, directory: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join(directory)) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> = names
        .filter(|name| name.ends_with(".md") && PromptTemplate::of_file(name).is_none())
        .filter_map(|name| {
            let near = nearest(&name, TEMPLATES.iter().map(|t| t.file_name()))?;
            Some(format!("{directory}/{name} is not used; did you mean {near}?"))
        })
        .collect();
    found.sort();
    found
}

/// The skills of these names that are there.
pub fn skills(root: &Path, names: &[String]) -> PromptFileContent<Vec<Skill>> {
    let mut loaded = PromptFileContent { value: Vec::new(), warnings: Vec::new() };
    for name in names {
        match skill(root, name) {
            Ok(skill) => loaded.value.push(skill),
            Err(why) => loaded.warnings.push(format!("the task goes on without a skill: {why}")),
        }
    }
    loaded
}

fn skill(root: &Path, name: &str) -> Result<Skill, String> {
    let bare = name.strip_suffix(".md").unwrap_or(name);
    let is_name = !bare.is_empty() && !bare.starts_with('.') && !bare.contains(['/', '\\', '\0']);
    if !is_name {
        return Err(format!("{name:?} is not the name of a file in {SKILLS}"));
    }
    let file = format!("{SKILLS}/{bare}.md");
    match limited(&root.join(&file), LARGEST) {
        Ok(Some(content)) => Ok(Skill { name: bare.to_owned(), file, content }),
        Ok(None) => Err(format!("there is no {file}")),
        Err(why) => Err(why),
    }
}

/// The text of the knowledge index, where there is one.
pub fn knowledge_index(root: &Path) -> PromptFileContent<Option<String>> {
    match limited(&root.join(INDEX), LARGEST) {
        Ok(value) => PromptFileContent { value, warnings: Vec::new() },
        Err(why) => PromptFileContent {
            value: None,
            warnings: vec![format!("the prompt has no knowledge index: {why}")],
        },
    }
}

/// The text of a file of at most `most` bytes; what is not UTF-8 in it is replaced.
pub(crate) fn limited(path: &Path, most: u64) -> Result<Option<String>, String> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() && meta.len() > most => {
            Err(format!("{} is larger than {most} bytes", path.display()))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
            Err(FileError::io(FileAction::Read, path)(e).to_string())
        }
        _ => store::read(path)
            .map(|bytes| bytes.map(|b| String::from_utf8_lossy(&b).into_owned()))
            .map_err(|e| e.to_string()),
    }
}

#[cfg(test)]
#[path = "prompt_files_tests.rs"]
mod tests;
