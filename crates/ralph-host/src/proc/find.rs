//! Search for the file of a program by its name.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file that `program` stands for: a path relative to `cwd` if it has a slash, else the first
/// executable file of that name in the directories of `path`.
pub fn find_program(program: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        // Whether it may be executed is the kernel's answer: "permission denied" says more than
        // "not found".
        return Some(cwd.join(program)).filter(|file| file.exists());
    }
    if program.is_empty() {
        return None;
    }
    let directories = std::env::split_paths(path?);
    directories.map(|d| cwd.join(d).join(program)).find(|file| is_executable(file))
}

/// Whether somebody may execute the file.
pub fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    #[test]
    fn the_first_executable_file_on_the_path_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let put = |file: &str, mode| {
            let file = place.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::OpenOptions::new().create(true).write(true).mode(mode).open(&file).unwrap();
            file
        };
        put("a/tool", 0o644);
        fs::create_dir_all(place.path().join("b/tool")).unwrap();
        let tool = put("c/tool", 0o755);
        put("d/tool", 0o755);
        let path = std::env::join_paths(["a", "b", "c", "d"].map(|d| place.path().join(d)));
        let path = path.unwrap();
        let find = |program: &str| find_program(program.as_ref(), Some(&path), place.path());
        assert_eq!(find("tool"), Some(tool));
        assert_eq!(find("tool2"), None);
        assert_eq!(find(""), None);
        assert_eq!(find("a/tool"), Some(place.path().join("a/tool")));
        assert_eq!(find("./a/nothing"), None);
    }
}
