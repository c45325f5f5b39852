//! Projects for the tests of `init`.

use super::{Entry, Request, Setup, Tree, set_up};

/// A project with these files; a name that ends in `/` is a folder.
pub(super) fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, text) in files {
        for (at, _) in path.match_indices('/') {
            tree.add(&path[..at], Entry::Folder);
        }
        if !path.ends_with('/') {
            let wanted = Tree::wants(path);
            tree.add(*path, if wanted { Entry::Text((*text).to_owned()) } else { Entry::File });
        }
    }
    tree
}

pub(super) fn init(files: &[(&str, &str)]) -> Setup {
    set_up(&tree(files), &Request::default()).unwrap()
}

/// The text of a file that init creates.
pub(super) fn created<'s>(setup: &'s Setup, path: &str) -> &'s str {
    let file = setup.create.iter().find(|file| file.path == path);
    &file.unwrap_or_else(|| panic!("{path} is not created: {setup:#?}")).text
}

/// Return the gates as `name: command`.
pub(super) fn gates(setup: &Setup) -> Vec<String> {
    setup.gates.iter().map(|gate| format!("{}: {}", gate.name, gate.command)).collect()
}
