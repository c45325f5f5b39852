//! A word that only its owner may know: a file that nobody else can read.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::atomic::TEMP_PREFIX;
use super::target::{self, directory_of};
use crate::file_error::{FileAction, FileError};
use crate::ids;

/// Bits that let anybody but the owner in.
const OTHERS: u32 = 0o077;

/// The secret in the file `path`. One that is not there, or that others could read, is made anew.
pub fn keep_secret(path: &Path) -> Result<String, FileError> {
    let private = std::fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & OTHERS == 0);
    if private && let Some(bytes) = target::read(path)? {
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.len() == ids::SECRET_LENGTH && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(text);
        }
    }
    new_secret(path)
}

/// Put a new secret into the file `path`; the old one opens nothing any more.
pub fn new_secret(path: &Path) -> Result<String, FileError> {
    let secret = ids::secret().map_err(FileError::io(FileAction::Write, path))?;
    put_private(path, format!("{secret}\n").as_bytes())?;
    Ok(secret)
}

/// Put a file in place that only its owner can read.
pub fn put_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let write = || {
        let directory = directory_of(path);
        std::fs::create_dir_all(directory)?;
        // Only the owner can read a temporary file, and it keeps that when it takes its place.
        let mut temp = tempfile::Builder::new().prefix(TEMP_PREFIX).tempfile_in(directory)?;
        temp.write_all(bytes)?;
        temp.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(FileError::io(FileAction::Write, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stays_and_nobody_else_can_read_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state/token");
        let first = keep_secret(&path).unwrap();
        assert_eq!(keep_secret(&path).unwrap(), first);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(new_secret(&path).unwrap(), first);
    }

    #[test]
    fn a_secret_that_others_could_read_is_none_any_more() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("token");
        let first = keep_secret(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(keep_secret(&path).unwrap(), first);
    }
}
