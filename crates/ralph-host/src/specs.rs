//! The specs of a project: markdown files below `ralph/specs/`.

use std::io;
use std::path::Path;

/// Greatest depth of folders that are searched for specs.
const MAX_DEPTH: usize = 8;

/// The names of all specs below `directory`, relative to it with `/`, sorted. Hidden files and
/// names that are not text are left out; a directory that does not exist has no specs.
pub fn list(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut open = vec![(directory.to_owned(), String::new(), 0)];
    while let Some((path, prefix, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if depth == 0 && e.kind() == io::ErrorKind::NotFound => return Ok(names),
            Err(e) => return Err(e),
        };
        for entry in entries {
            let entry = entry?;
            let file_name = entry.file_name();
            let Some(name) = file_name.to_str().filter(|n| !n.starts_with('.')) else { continue };
            let name = format!("{prefix}{name}");
            let kind = std::fs::metadata(entry.path()).map(|m| m.file_type());
            match kind {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    open.push((entry.path(), format!("{name}/"), depth + 1));
                }
                Ok(kind) if kind.is_file() && name.ends_with(".md") => names.push(name),
                // A dangling link or a vanished file is no spec.
                _ => {}
            }
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_markdown_files_also_in_folders_and_a_missing_folder_has_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(list(&dir.path().join("none")).unwrap().is_empty());
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        for name in ["b.md", "a.md", "notes.txt", ".hidden.md", "sub/c.md"] {
            std::fs::File::create_new(dir.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", dir.path().join("gone.md")).unwrap();
        assert_eq!(list(dir.path()).unwrap(), ["a.md", "b.md", "sub/c.md"]);
    }
}
