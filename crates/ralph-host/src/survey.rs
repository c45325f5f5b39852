//! Looking at a project for `ralph init`: names, and the text of the few files that decide something.

use std::fs;
use std::io::Read;
use std::path::Path;

use ralph_core::init::{ProjectTree, TreeEntry};

use crate::FileError;
use crate::file_error::{FileAction, words};

/// No manifest that a person wrote is larger.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Collect the facts that [`ralph_core::init`] needs about the project in `root`. Names that are not
/// UTF-8 are skipped, and so are folders below the root that cannot be listed.
pub fn survey(root: &Path) -> Result<ProjectTree, FileError> {
    let mut tree = ProjectTree::default();
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        let directory = root.join(&folder);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(_) if !folder.is_empty() => continue,
            Err(e) => return Err(FileError::io(FileAction::Read, &directory)(e)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            let found = look(&entry.path(), &path);
            if found == TreeEntry::Folder && ProjectTree::looks_into(&path) {
                open.push(path.clone());
            }
            tree.add(path, found);
        }
    }
    Ok(tree)
}

/// Return the entry at `place`, with its text if `path` is worth reading. Links are followed.
fn look(place: &Path, path: &str) -> TreeEntry {
    let meta = match fs::metadata(place) {
        Ok(meta) if meta.is_dir() => return TreeEntry::Folder,
        Ok(_) if !ProjectTree::wants(path) => return TreeEntry::File,
        Err(_) if !ProjectTree::wants(path) => return TreeEntry::File,
        Ok(meta) => meta,
        Err(e) => return TreeEntry::Unreadable(words(&e)),
    };
    // Opening a pipe would wait for somebody to write into it.
    if !meta.is_file() {
        return TreeEntry::Unreadable("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    match fs::File::open(place).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)) {
        Err(e) => TreeEntry::Unreadable(words(&e)),
        Ok(_) if bytes.len() as u64 > LARGEST => {
            TreeEntry::Unreadable(format!("it is larger than {} MiB", LARGEST >> 20))
        }
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => TreeEntry::Text(text),
            Err(_) => TreeEntry::Unreadable("it is not UTF-8 text".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use ralph_testkit::TestProject;

    use super::*;

    fn tree(project: &TestProject) -> ProjectTree {
        survey(project.root()).unwrap()
    }

    #[test]
    fn names_are_listed_one_level_deep_and_only_telling_files_are_read() {
        let p = TestProject::new("/bin/sh")
            .file("package.json", "{}")
            .file("README.md", "hello")
            .file("web/package.json", "[]")
            .file("web/src/package.json", "{}")
            .file("node_modules/a/package.json", "{}")
            .file(".ralph/config/ralph.conf", "A=1\n");
        let tree = tree(&p);
        assert_eq!(tree.text("package.json"), Some("{}"));
        assert_eq!(tree.text("web/package.json"), Some("[]"));
        assert_eq!(tree.text(".ralph/config/ralph.conf"), Some("A=1\n"));
        assert_eq!(tree.get("README.md"), Some(&TreeEntry::File));
        assert_eq!(tree.get("web/src"), Some(&TreeEntry::Folder));
        assert_eq!(tree.get("web/src/package.json"), None);
        assert_eq!(tree.get("node_modules/a"), None);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_never_waited_for() {
        let p = TestProject::new("/bin/sh")
            .file("Cargo.toml", [0xff, 0xfe])
            .link("package.json", "nowhere")
            .file("setup.cfg", vec![b'x'; 16 * 1024 * 1024 + 1]);
        p.run(["-c", "mkfifo Makefile"]).ok();
        let tree = tree(&p);
        let why = |path: &str| match tree.get(path) {
            Some(TreeEntry::Unreadable(why)) => why.clone(),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(why("Cargo.toml"), "it is not UTF-8 text");
        assert_eq!(why("package.json"), "no such file or directory");
        assert_eq!(why("setup.cfg"), "it is larger than 16 MiB");
        assert_eq!(why("Makefile"), "it is not a regular file");
    }

    #[test]
    fn a_root_that_cannot_be_listed_is_an_error() {
        let error = survey(Path::new("/nonexistent/project")).unwrap_err();
        assert!(error.to_string().contains("no such file or directory"), "{error}");
    }
}
