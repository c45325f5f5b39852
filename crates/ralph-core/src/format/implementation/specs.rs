//! Names of specs: resolve a name to a spec, and choose a name for a new one.

use std::collections::BTreeMap;

use crate::plan::{Plan, SpecEntry};

/// The ways to name a spec: its id, its file, or the end of its file's path without `.md`.
#[derive(Default)]
pub(super) struct SpecNames {
    files: Vec<Option<String>>,
    by_id: BTreeMap<String, Vec<usize>>,
    by_file: BTreeMap<String, Vec<usize>>,
    by_stem: BTreeMap<String, Vec<usize>>,
}

/// A name that means several specs: their places.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AmbiguousSpec(pub(super) Vec<usize>);

impl SpecNames {
    /// Collect the names of these specs.
    pub(super) fn of(specs: &[SpecEntry]) -> Self {
        let mut names = Self::default();
        for spec in specs {
            names.add(&spec.id, spec.file.as_deref());
        }
        names
    }

    /// One more spec, at the end.
    pub(super) fn add(&mut self, id: &str, file: Option<&str>) {
        let at = self.files.len();
        self.by_id.entry(id.to_owned()).or_default().push(at);
        if let Some(file) = file {
            self.by_file.entry(file.to_owned()).or_default().push(at);
            self.by_stem.entry(stem(file).to_owned()).or_default().push(at);
        }
        self.files.push(file.map(str::to_owned));
    }

    /// The spec that `name` means, if there is one. An id goes before a file, a whole path before
    /// the end of one.
    pub(super) fn resolve(&self, name: &str) -> Result<Option<usize>, AmbiguousSpec> {
        let none = Vec::new();
        let like = self.by_stem.get(stem(name)).unwrap_or(&none);
        let ends: Vec<usize> = like.iter().copied().filter(|&at| self.is_tail(name, at)).collect();
        let stems = self.by_id.get(stem(name)).unwrap_or(&none);
        let fileless = stems.iter().copied().filter(|&at| self.files[at].is_none()).collect();
        let ways = [
            self.by_id.get(name).unwrap_or(&none),
            self.by_file.get(name).unwrap_or(&none),
            &ends,
            &fileless,
        ];
        match ways.into_iter().find(|found| !found.is_empty()).map(Vec::as_slice) {
            None => Ok(None),
            Some(&[at]) => Ok(Some(at)),
            Some(several) => Err(AmbiguousSpec(several.to_vec())),
        }
    }

    /// An id that no spec has, like `id`.
    pub(super) fn unused(&self, id: String) -> String {
        let mut unused = id.clone();
        let mut number = 2;
        while self.by_id.contains_key(&unused) {
            unused = format!("{id}-{number}");
            number += 1;
        }
        unused
    }

    /// Whether `name` is the end of this spec's path or the other way round: `a/x.md` and
    /// `b/x.md` are different specs, `x`, `x.md` and `specs/x.md` may all be `ralph/specs/x.md`.
    fn is_tail(&self, name: &str, at: usize) -> bool {
        let Some(Some(file)) = self.files.get(at) else { return false };
        let parts = |path: &str| -> Vec<String> {
            let path = path.strip_suffix(".md").unwrap_or(path);
            path.split('/').rev().filter(|p| !matches!(*p, "" | ".")).map(str::to_owned).collect()
        };
        parts(file).iter().zip(parts(name)).all(|(a, b)| *a == b)
    }
}

/// The spec that takes a task of no spec in particular: the first that is not completed, else one
/// named after the plan.
pub(super) fn default_name(plan: &Plan) -> String {
    let open = plan.specs.iter().find(|spec| spec.status.as_deref() != Some("completed"));
    open.map(|spec| spec.id.clone())
        .or_else(|| plan.title.clone())
        .unwrap_or_else(|| "plan".to_owned())
}

/// A file's name without directories and `.md`.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name)
}

/// `name` as an id: its file's stem, lower case, words joined by dashes.
pub(super) fn slug(name: &str) -> String {
    let lower = stem(name).to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    if words.is_empty() { "spec".to_owned() } else { words.join("-") }
}

/// `name` for people: as it is when it has spaces, else the words of its file's stem.
pub(super) fn title(name: &str) -> String {
    if name.contains(' ') && !name.ends_with(".md") {
        return name.to_owned();
    }
    let capital = |word: &str| -> String {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
    };
    let words: Vec<String> =
        stem(name).split(['-', '_', ' ']).filter(|w| !w.is_empty()).map(capital).collect();
    if words.is_empty() { name.to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> SpecNames {
        let mut names = SpecNames::default();
        names.add("avatar", Some("specs/user-avatar.md"));
        names.add("a", Some("a/x.md"));
        names.add("b", Some("b/x.md"));
        names.add("a", None);
        names.add("login", None);
        names
    }

    #[test]
    fn a_spec_is_found_by_id_file_and_end_of_path() {
        let names = names();
        for name in ["avatar", "specs/user-avatar.md", "user-avatar", "user-avatar.md"] {
            assert_eq!(names.resolve(name), Ok(Some(0)), "{name}");
        }
        assert_eq!(names.resolve("./ralph/specs/user-avatar.md"), Ok(Some(0)));
        assert_eq!(names.resolve("ralph/login.md"), Ok(Some(4)));
        assert_eq!(names.resolve("ralph/avatar.md"), Ok(None));
        assert_eq!(names.resolve("user"), Ok(None));
    }

    #[test]
    fn files_of_the_same_name_in_different_places_are_different_specs() {
        let names = names();
        assert_eq!(names.resolve("b/x.md"), Ok(Some(2)));
        assert_eq!(names.resolve("c/x.md"), Ok(None));
        assert_eq!(names.resolve("x.md"), Err(AmbiguousSpec(vec![1, 2])));
        assert_eq!(names.resolve("a"), Err(AmbiguousSpec(vec![1, 3])));
    }

    #[test]
    fn new_names_are_made_of_the_words_there_are() {
        assert_eq!(slug("specs/User Avatar_upload!.md"), "user-avatar-upload");
        assert_eq!(slug("…"), "spec");
        assert_eq!(title("specs/user-avatar_upload.md"), "User Avatar Upload");
        assert_eq!(title("Überall – dies"), "Überall – dies");
        assert_eq!(title("élan"), "Élan");
        assert_eq!(names().unused("a".into()), "a-2");
    }
}
