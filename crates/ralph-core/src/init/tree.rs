//! A project as `ralph init` sees it: names, and the text of a few files.

use std::collections::BTreeMap;

/// Entry of a [`ProjectTree`]: a folder or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    Folder,
    /// A file whose text nobody needs.
    File,
    /// A file that was read, with its text.
    Text(String),
    /// A file that could not be read as text, and why.
    Unreadable(String),
}

/// Names and texts of a project, by path from its root with `/` between the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectTree {
    entries: BTreeMap<String, TreeEntry>,
    /// Paths that git ignores; a folder ends in `/` and stands for everything below it.
    ignored: Vec<String>,
    /// Folders between the top of the repository and the project.
    depth: usize,
}

/// Folders deeper than one level that hold something to import or to keep.
const DEEPER: [&str; 4] =
    [".ralph/config", ".ralph/templates", ".ralph-wiggum/specs", "ralph/specs"];

/// Hidden folders that are looked into nevertheless.
const HIDDEN: [&str; 3] = [".config", ".ralph", ".ralph-wiggum"];

/// Folders whose contents are made, borrowed or only for show: their manifests are not the project's.
const NOT_OURS: [&str; 18] = [
    "node_modules",
    "target",
    "vendor",
    "third_party",
    "dist",
    "build",
    "out",
    "venv",
    "env",
    "__pycache__",
    "example",
    "examples",
    "fixtures",
    "testdata",
    "fuzz",
    "benches",
    "docs",
    "doc",
];

/// Files that are read wherever a stack may be.
const MANIFESTS: [&str; 10] = [
    "Cargo.toml",
    "go.mod",
    "rust-toolchain.toml",
    "rust-toolchain",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "mypy.ini",
    ".mypy.ini",
];

/// Files that are read at the root only. The names of just's file are spelt in any case.
const AT_THE_ROOT: [&str; 11] = [
    ".gitignore",
    ".prettierignore",
    "biome.json",
    "biome.jsonc",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    ".justfile",
    "ralph.conf",
    "agents.json",
];

impl ProjectTree {
    /// Whether the folder (`""` is the root) is worth listing.
    pub fn looks_into(folder: &str) -> bool {
        if folder.is_empty() || DEEPER.contains(&folder) {
            return true;
        }
        if folder.contains('/') || NOT_OURS.contains(&folder) {
            return false;
        }
        !folder.starts_with('.') || HIDDEN.contains(&folder)
    }

    /// Whether the text of the file decides something.
    pub fn wants(path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match folder {
            ".ralph/config" => name == "ralph.conf" || name == "agents.json" || is_mcp(name),
            ".ralph-wiggum" => name == "implementation.json" || name == "config.json",
            ".ralph-wiggum/specs" => name.ends_with(".md"),
            "" if AT_THE_ROOT.contains(&name) || is_mcp(name) => true,
            "" if name.eq_ignore_ascii_case("justfile") => true,
            _ => !folder.contains('/') && MANIFESTS.contains(&name),
        }
    }

    /// Add an entry, or replace the one at this path.
    pub fn add(&mut self, path: impl Into<String>, entry: TreeEntry) {
        self.entries.insert(path.into(), entry);
    }

    /// Say which paths git ignores (a folder ends in `/`), and how many folders the project is below
    /// the top of its repository.
    pub fn set_repository(&mut self, ignored: Vec<String>, depth: usize) {
        (self.ignored, self.depth) = (ignored, depth);
    }

    /// Paths that git ignores; a folder ends in `/`.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Return the number of folders between the top of the repository and the project.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Return the entry at `path`.
    pub fn get(&self, path: &str) -> Option<&TreeEntry> {
        self.entries.get(path)
    }

    /// Return whether there is a file at `path`.
    pub fn has_file(&self, path: &str) -> bool {
        self.get(path).is_some_and(|entry| *entry != TreeEntry::Folder)
    }

    /// Return whether there is a folder at `path`.
    pub fn has_folder(&self, path: &str) -> bool {
        self.get(path) == Some(&TreeEntry::Folder)
    }

    /// The text of `path`, if it is there and could be read.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.get(path)? {
            TreeEntry::Text(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
            _ => None,
        }
    }

    /// The names in `folder` (`""` is the root), in order.
    pub fn names<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        let start = join(folder, "");
        self.entries.keys().filter_map(move |path| {
            let name = path.strip_prefix(start.as_str())?;
            (!name.is_empty() && !name.contains('/')).then_some(name)
        })
    }

    /// The first of `names` that is a file in `folder`, as a path.
    pub(super) fn first(&self, folder: &str, names: &[&str]) -> Option<String> {
        names.iter().map(|name| join(folder, name)).find(|path| self.has_file(path))
    }
}

/// Whether the name is one of Ralph Deluxe's lists of MCP servers.
pub(super) fn is_mcp(name: &str) -> bool {
    name.starts_with("mcp-") && name.ends_with(".json")
}

/// The folders one level below the root that may hold a project of their own.
pub(super) fn folders_below(tree: &ProjectTree) -> Vec<&str> {
    let below = |name: &&str| {
        tree.has_folder(name) && ProjectTree::looks_into(name) && !name.starts_with('.')
    };
    tree.names("").filter(below).collect()
}

/// `folder/name`, or just the name at the root.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_may_hold_the_projects_own_code_are_looked_into() {
        for yes in ["", "web", "src-tauri", ".config", ".ralph", ".ralph/config", "ralph/specs"] {
            assert!(ProjectTree::looks_into(yes), "{yes}");
        }
        for no in [".git", "node_modules", "fuzz", ".venv", "web/src", ".ralph/handoffs"] {
            assert!(!ProjectTree::looks_into(no), "{no}");
        }
    }

    #[test]
    fn only_files_that_decide_something_are_read() {
        for yes in [
            "package.json",
            "web/package.json",
            "Justfile",
            ".gitignore",
            "mcp-context.json",
            ".ralph/config/ralph.conf",
            ".ralph-wiggum/specs/a.md",
        ] {
            assert!(ProjectTree::wants(yes), "{yes}");
        }
        for no in [
            "README.md",
            "web/Makefile",
            "web/src/package.json",
            "ralph/specs/a.md",
            "web/.gitignore",
        ] {
            assert!(!ProjectTree::wants(no), "{no}");
        }
    }

    #[test]
    fn names_are_those_of_one_folder() {
        let mut tree = ProjectTree::default();
        for path in ["a", "a/b", "a/b/c", "ab"] {
            tree.add(path, TreeEntry::File);
        }
        assert_eq!(tree.names("").collect::<Vec<_>>(), ["a", "ab"]);
        assert_eq!(tree.names("a").collect::<Vec<_>>(), ["b"]);
    }
}
