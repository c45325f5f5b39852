//! Names that git gives: paths, which need not be text, and objects.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path inside the working tree, from its top, as git writes it: any bytes but NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// The path with these bytes. A `/` at its end, which git adds to directories, is left out.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        Self(bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec())
    }

    /// Return the path as the bytes that git uses.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same as a path of the file system, relative to the top of the working tree.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Return the last component of the path.
    pub fn name(&self) -> &[u8] {
        self.0.rsplit(|b| *b == b'/').next().unwrap_or_default()
    }

    /// The path of something in the folder that this path names; an empty path names the top.
    #[must_use]
    pub fn join(&self, path: &Self) -> Self {
        if self.0.is_empty() {
            return path.clone();
        }
        Self::new([self.as_bytes(), b"/", path.as_bytes()].concat())
    }

    /// The path seen from a folder that it is in.
    pub fn below(&self, folder: &Self) -> Option<String> {
        if folder.0.is_empty() {
            return Some(self.to_string());
        }
        let rest = self.0.strip_prefix(folder.0.as_slice())?.strip_prefix(b"/")?;
        Some(Self::new(rest).to_string())
    }

    /// Whether it is `other` or something below it.
    pub fn is_at_or_below(&self, other: &Self) -> bool {
        match self.0.strip_prefix(&other.0[..]) {
            Some(rest) => rest.is_empty() || rest.first() == Some(&b'/') || other.0.is_empty(),
            None => false,
        }
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// As text: what is not text, control characters and backslashes are written `\xHH`.
impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if c.is_ascii_control() || c == '\\' {
                    write!(f, "\\x{:02x}", u32::from(c))?;
                } else {
                    f.write_char(c)?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            let escaped = after.strip_prefix(b"x").and_then(|hex| hex.split_at_checked(2));
            match escaped.filter(|_| *first == b'\\').and_then(|(hex, after)| {
                let value = u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
                Some((value, after))
            }) {
                Some((value, after)) => {
                    bytes.push(value);
                    rest = after;
                }
                None => {
                    bytes.push(*first);
                    rest = after;
                }
            }
        }
        Ok(Self(bytes))
    }
}

/// The name of an object: its hash in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

/// This is not the name of an object.
#[derive(Debug, thiserror::Error)]
#[error("not the name of a git object: {0}")]
pub struct InvalidOid(String);

impl Oid {
    /// The name in these bytes, which may have white space around it.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.trim();
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self(text.to_owned()))
    }

    /// Return the hash as hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Check whether all digits are zero. Git writes this hash where there is no object.
    pub fn is_null(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }
}

impl TryFrom<String> for Oid {
    type Error = InvalidOid;

    fn try_from(text: String) -> Result<Self, InvalidOid> {
        Self::parse(text.as_bytes()).ok_or(InvalidOid(text))
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<OsStr> for Oid {
    fn as_ref(&self) -> &OsStr {
        OsStr::new(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_survives_being_written_down() {
        for bytes in [
            &b"src/main.rs"[..],
            b"new\nline and \\backslash and \\x41",
            b"\xff\xfe not text",
            "früh/größe".as_bytes(),
            b"-dash",
            b"",
        ] {
            let path = RepoPath::new(bytes);
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<RepoPath>(&json).unwrap(), path, "{json}");
            assert!(!json.contains('\n'));
        }
    }

    #[test]
    fn below_is_below_a_directory_and_not_a_longer_name() {
        let dir = RepoPath::new("a/b/");
        assert!(RepoPath::new("a/b").is_at_or_below(&dir));
        assert!(RepoPath::new("a/b/c").is_at_or_below(&dir));
        assert!(!RepoPath::new("a/bc").is_at_or_below(&dir));
        assert!(!RepoPath::new("a").is_at_or_below(&dir));
    }

    #[test]
    fn only_hexadecimal_digits_of_the_right_length_name_an_object() {
        let sha1 = "a".repeat(40);
        assert_eq!(Oid::parse(format!("{sha1}\n").as_bytes()).unwrap().as_str(), sha1);
        assert!(Oid::parse("b".repeat(64).as_bytes()).is_some());
        assert!(Oid::parse(b"HEAD").is_none() && Oid::parse("g".repeat(40).as_bytes()).is_none());
        assert!(serde_json::from_str::<Oid>("\"--all\"").is_err());
    }
}
