//! Projects for the tests of `init`.

use super::{InitRequest, ProjectSetup, ProjectTree, TreeEntry, set_up};

/// A project with these files; a name that ends in `/` is a folder.
pub(super) fn tree(files: &[(&str, &str)]) -> ProjectTree {
    let mut tree = ProjectTree::default();
    for (path, text) in files {
        for (at, _) in path.match_indices('/') {
            tree.add(&path[..at], TreeEntry::Folder);
        }
        if !path.ends_with('/') {
            let wanted = ProjectTree::wants(path);
            tree.add(
                *path,
                if wanted { TreeEntry::Text((*text).to_owned()) } else { TreeEntry::File },
            );
        }
    }
    tree
}

pub(super) fn init(files: &[(&str, &str)]) -> ProjectSetup {
    set_up(&tree(files), &InitRequest::default()).unwrap()
}

/// The text of a file that init creates.
pub(super) fn created<'s>(setup: &'s ProjectSetup, path: &str) -> &'s str {
    let file = setup.create.iter().find(|file| file.path == path);
    &file.unwrap_or_else(|| panic!("{path} is not created: {setup:#?}")).text
}

/// Return the gates as `name: command`.
pub(super) fn gates(setup: &ProjectSetup) -> Vec<String> {
    setup.gates.iter().map(|gate| format!("{}: {}", gate.name, gate.command)).collect()
}
